"""Mixtures of experts scored blind a second time: three models that no one had opened.

    python -m llmserve_lab.validation.second_trial FILE.csv

prints the errors of a file with :data:`COLUMNS`. The form of :mod:`.expert_form`, with
the facts of latent attention in :mod:`.latent_form`, its two constants, fitted to the
763 runs of the first trial alone, and the choice of the runs (``tools/latent_rows.py``,
by settings) were fixed before a time was read. Beside it stands the machine that was
fitted to dense models, which made the book's predictions then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from llmserve_lab.catalog.evidence.status import Status
from llmserve_lab.validation.constants import achieved, record
from llmserve_lab.validation.expert_form import ExpertConstants
from llmserve_lab.validation.experts import GOAL, SCORED, predict, read_rows
from llmserve_lab.validation.latent_form import LatentPredictor
from llmserve_lab.validation.latent_rows import TRIED, latent_rows, latent_runs
from llmserve_lab.validation.prediction import KINDS, Predictor, Times, errors
from llmserve_lab.validation.rows import SHA256
from llmserve_lab.validation.scores import ErrorScore, score_of

COLUMNS = (
    "model", "system", "engine", "precision", "tp", "ep", "isl", "osl", "clients",
    "ttft_ms", "tpot_ms", "statistic", "date",
)  # fmt: skip
LABELS = ("model", "engine", "system", "precision")
EACH = "all"  # the name of all runs together
Scores = dict[str, dict[str, ErrorScore]]


def extra() -> ExpertConstants:
    """The two constants, as they were fitted to all runs of the first trial."""
    return ExpertConstants(**record()["experts"]["constants"][EACH])


def mended(predictor: LatentPredictor) -> Times:
    """What the form that is tried says of the runs."""
    return predictor.predict(achieved(), extra())


def scores(predictor: Predictor, times: Times, *others: np.ndarray) -> Scores:
    """Scores of each kind of time: of all runs, and by model, engine, GPU, precision.

    ``others`` are more labels [rows]. Servers are drawn for the intervals; of one
    server alone there is none.
    """
    server = predictor.label("server")
    found: Scores = {}
    for name, own in _groups(predictor, others):
        found[name] = {
            kind: score_of(errors(times, predictor.measured, kind)[own], server[own])
            for kind in KINDS
        }
    return found


def _groups(
    predictor: Predictor, others: Iterable[np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """Names and rows of what is scored together."""
    yield EACH, np.full(len(predictor.rows), True)
    for label in (*others, *map(predictor.label, LABELS)):
        for name in np.unique(label):
            yield str(name), label == name


def said(name: str, found: Mapping[str, ErrorScore]) -> str:
    """A line of what is printed."""
    parts = [f"{name}: {found['tpot'].n} runs"]
    for kind in KINDS:
        each = found[kind]
        ends = each.interval
        between = f" [{100 * ends[0]:.1f}, {100 * ends[1]:.1f}]" if ends else ""
        parts.append(
            f"{kind} {100 * each.mean:.1f} %{between} ({100 * each.bias:+.1f})"
        )
    return "; ".join(parts)


def recorded() -> dict[str, Any]:
    """All that the record has of the second trial."""
    predictor = LatentPredictor(latent_runs())
    return trial_record(TRIED, "latent_rows.csv", predictor, mended(predictor), scores)


def trial_record(
    tried: Status,
    file: str,
    predictor: Predictor,
    times: Times,
    scored: Callable[[Any, Times], Scores],
) -> dict[str, Any]:
    """What the record has of a trial: when, on which file, and both scores.

    ``"errors"`` are of the machine that was fitted to dense models;
    those of the form that was tried, whose ``times`` these are, are beside them.
    """
    plain = predict(predictor.rows)
    return {
        "status": [tried.kind, tried.date],
        "rows_sha256": SHA256[file],
        "mended": plain_of(scored(predictor, times)),
        "dense": plain_of(scored(predictor, plain)),
        "mended errors": errors(times, predictor.measured, "tpot").tolist(),
        "errors": {
            kind: errors(plain, predictor.measured, kind).tolist() for kind in SCORED
        },
    }


def plain_of(found: Scores) -> dict[str, dict[str, dict[str, Any]]]:
    """Scores as the record has them."""
    return {
        name: {kind: each.plain() for kind, each in kinds.items()}
        for name, kinds in found.items()
    }


def main(path: Path) -> None:
    """Print the score of a file's runs, and what was left out and why."""
    predictor = LatentPredictor(read_rows(path, COLUMNS, latent_rows))
    print(f"goal: TPOT {100 * GOAL:.0f} %")
    print_scores(predictor, mended(predictor), scores)


def print_scores(
    predictor: Predictor, times: Times, scored: Callable[[Any, Times], Scores]
) -> None:
    """Print the scores of the form that is tried, and of the dense machine."""
    for sort, made in (
        ("mended form", times),
        ("machine of dense models", predict(predictor.rows)),
    ):
        print(sort)
        for name, each in scored(predictor, made).items():
            print(" ", said(name, each))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
