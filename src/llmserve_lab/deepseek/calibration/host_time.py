"""Host time: what a step takes that no kernel accounts for, read off 21 decode runs.

Launches from the host, sampling and waiting for the slowest rank are in no kernel's
published time. One constant stands for them, once a step, the same for all engines,
GPUs and precisions. The runs are then calibrated on, and not scored; how it does on a
group that it was not fitted to is found by leaving one group out at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS, DecodeRun
from llmserve_lab.checks import key_of, positive
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.formula.arrays import Array

MEAN_LENGTH = 0.9  # of the nominal lengths, which are drawn evenly between 0.8 and 1
GROUPS = ("accelerator", "engine", "precision", "ep")
OUTLIER = 0.1  # error from which on a run counts less in the fit
# As the public recipes of these engines have it: one batch at a time, an FP8 cache on
# Blackwell. With FP8 weights attention is computed in BF16, with FP4 weights in FP8.
PROTOCOL: dict[str, Any] = {"overlap": "none", "n_redundant": 0}
BY_PRECISION: dict[str, dict[str, Any]] = {
    "fp8": {},
    "fp4": {"gemm": "fp4", "attention": "fp8"},
}


def twin_of(run: DecodeRun, assumed: Assumptions) -> Twin:
    """The twin of a decode worker, by the public protocol of its engine.

    Raises:
        ValueError: the weights are in a precision that the protocol does not know.
    """
    if run.precision not in BY_PRECISION:
        known = ", ".join(BY_PRECISION)
        raise ValueError(f"precision must be one of {known}, got {run.precision!r}")
    place = setup(run.accelerator, run.ep)
    on_blackwell = place.accelerator.architecture == "blackwell"
    changes = PROTOCOL | BY_PRECISION[run.precision]
    changes |= {"cache": "fp8"} if on_blackwell else {}
    return Twin(setup=place, assumptions=replace(assumed, **changes))


def decoding_requests(run: DecodeRun) -> float:
    """Requests on a GPU that decode at a time, by Little's law.

    A request is under way for its time to the first token and then decodes; those that
    still wait for the first token are elsewhere.
    """
    decode_s = (MEAN_LENGTH * run.output_tokens - 1) * run.tpot_s
    return run.requests_per_gpu * decode_s / (run.ttft_s + decode_s)


def mean_context(run: DecodeRun) -> float:
    """Tokens in the cache of a request, on average over its decode."""
    return MEAN_LENGTH * (run.prompt_tokens + run.output_tokens / 2)


def predicted_s(run: DecodeRun, assumed: Assumptions) -> float:
    """Seconds of a decode step of that run."""
    twin = twin_of(run, assumed)
    size = {"batch": decoding_requests(run), "context": mean_context(run)}
    return float(twin.step_s(**size))


def fit_host(
    assumed: Assumptions,
    runs: Iterable[DecodeRun] = DECODE_RUNS,
    *,
    start_s: float = 1e-3,
) -> float:
    """Host time that describes the runs best, in seconds, searched from ``start_s``.

    Least squares of the logarithm, in which an error beyond a tenth weighs less than
    its square (soft L1).

    Raises:
        ValueError: there are no runs, or the start is not positive.
    """
    from llmserve_lab.extras import optimize

    positive("start_s", start_s)
    if not (runs := tuple(runs)):
        raise ValueError("runs must be at least 1, got 0")
    without = replace(assumed, host_s=0.0)
    kernels = np.array([predicted_s(run, without) for run in runs])
    measured = np.array([run.tpot_s for run in runs])

    def off(host: Array) -> Array:
        return np.asarray(np.log((kernels + host) / measured))

    found = optimize.least_squares(
        off,
        [start_s],
        bounds=(0, np.inf),
        loss="soft_l1",
        f_scale=OUTLIER,
        x_scale=1e-3,
    )
    return float(found.x[0])


@dataclass(frozen=True)
class LeftOut:
    """Errors of one group of runs with the host time of all the others.

    ``errors`` are predicted over measured step times, less one.
    """

    by: str
    group: str
    host_s: float
    errors: tuple[float, ...]


def leave_one_out(assumed: Assumptions, by: str) -> tuple[LeftOut, ...]:
    """Cross-validation: each group in turn predicted with a host time of the others.

    Raises:
        ValueError: ``by`` is no way to group the runs.
    """
    key_of("by", by, GROUPS)
    found = []
    for group in sorted({getattr(run, by) for run in DECODE_RUNS}):
        of = [run for run in DECODE_RUNS if getattr(run, by) == group]
        others = [run for run in DECODE_RUNS if run not in of]
        host = fit_host(assumed, others)
        errors = errors_of(of, replace(assumed, host_s=host))
        found.append(LeftOut(by, str(group), host, errors))
    return tuple(found)


def errors_of(runs: Iterable[DecodeRun], assumed: Assumptions) -> tuple[float, ...]:
    """Predicted over measured step time, less one, run by run."""
    return tuple(predicted_s(run, assumed) / run.tpot_s - 1 for run in runs)
