"""The twin's blind score: decode runs that were opened once, after it was fixed.

Twin, rule of choice (``tools/decode_rows.py``) and goals were written down before a
time of these runs was read. No constant has been changed since, so that the errors are
those of that day; the runs themselves are *seen* from then on. One number had been
known of such runs: how far an earlier form of the twin was off in the mean, on
sixty-one runs of the same suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from llmserve_lab.catalog import accelerator
from llmserve_lab.catalog.evidence.blind_decode_runs import BLIND_RUNS
from llmserve_lab.catalog.evidence.decode_runs import DecodeRun
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.decode_scores import Predicted, predictions
from llmserve_lab.deepseek.evaluation.predictions import Score, score

GOAL, GOAL_BIAS = 0.15, 0.05  # of the step: the mean error, and the size of the bias
FEW, MANY = 32, 128  # requests of clients on a GPU


@cache
def blind() -> tuple[Predicted, ...]:
    """The runs, predicted with the book's assumptions."""
    return predictions(book_assumptions(), BLIND_RUNS)


def blind_score(*, rates: bool = False) -> Score:
    """Errors of the step, or of the rate that it gives, of all runs together."""
    return of(blind(), rates=rates)


def of(runs: Iterable[Predicted], *, rates: bool = False) -> Score:
    """Errors of the step, or of the rate, of some of the runs."""
    return score("blind", (r.rate_error if rates else r.error for r in runs))


def parts(*, rates: bool = False) -> dict[str, dict[str, Score]]:
    """Scores apart by one setting after the other, from few requests to many."""
    keys: dict[str, Callable[[DecodeRun], str]] = {
        "GPU": lambda run: accelerator(run.accelerator).name.split()[0],
        "engine": lambda run: run.engine,
        "weights": lambda run: run.precision,
        "requests on a GPU": _load,
    }
    return {
        by: {name: of(runs, rates=rates) for name, runs in _apart(key).items()}
        for by, key in keys.items()
    }


def _load(run: DecodeRun) -> str:
    if run.requests_per_gpu < FEW:
        return f"fewer than {FEW}"
    few = run.requests_per_gpu < MANY
    return f"{FEW} to {MANY}" if few else f"{MANY} and more"


def _apart(key: Callable[[DecodeRun], str]) -> dict[str, list[Predicted]]:
    found = dict[str, list[Predicted]]()
    for each in sorted(blind(), key=lambda each: each.run.requests_per_gpu):
        found.setdefault(key(each.run), []).append(each)
    return found


def farthest() -> Predicted:
    """The run whose step is farthest off."""
    return max(blind(), key=lambda each: abs(each.error))
