"""Worth of measuring: what a run of one's own server would change of the plan.

Before it is made, each error of a near row is one that it may find. Two runs, once
made, correct the loads between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llmserve_lab.how_wrong import example
from llmserve_lab.how_wrong.decision import (
    ENGINE,
    PlannedLoad,
    engine_known,
    loads,
    measured_loads,
    most_kept,
    near_rows,
    planned,
    servers,
)


@dataclass(frozen=True)
class PlanFound:
    """What a measurement may find, and the plan that follows: clients and devices."""

    error: float
    clients: int
    devices: int

    @classmethod
    def of(cls, error: float) -> PlanFound:
        """The plan after a measurement that found this error of TPOT."""
        load = load_found(error)
        return cls(error, load.clients, example.TP * servers(load, "longest_s"))


@dataclass(frozen=True)
class Worth:
    """What a measurement promises, before it is made.

    Devices saved in the mean of what it may find: of all the nearest rows' errors
    beside the plan by the band, and of the ``n_alike`` of the same engine beside the
    plan that knows the engine. ``share`` of them make the plan smaller. ``best``,
    ``middle`` (the median) and ``worst`` are three errors of the engine.
    """

    saved: float
    n: int
    saved_alike: float
    n_alike: int
    share: float
    share_alike: float
    best: PlanFound
    middle: PlanFound
    worst: PlanFound


def worth() -> Worth:
    """Each error of a near row is taken as the error that the measurement finds."""
    rows, error = near_rows("tpot", example.rows()[-1])
    alike = np.array([each.engine == ENGINE for each in rows])
    needed = np.array([servers_found(float(each)) for each in error])
    saved, saved_alike = (
        example.TP * (servers(plan, "longest_s") - found)
        for plan, found in ((planned(), needed), (engine_known(), needed[alike]))
    )
    return Worth(
        float(saved.mean()),
        len(saved),
        float(saved_alike.mean()),
        len(saved_alike),
        float((saved > 0).mean()),
        float((saved_alike > 0).mean()),
        *(
            PlanFound.of(float(each))
            for each in np.percentile(error[alike], (100, 50, 0))
        ),
    )


def servers_found(error: float) -> int:
    """Servers that are planned once one was measured and TPOT's error is known.

    As :func:`load_found` has it.
    """
    return servers(load_found(error), "longest_s")


def load_found(error: float) -> PlannedLoad:
    """The most clients that keep the promises once TPOT's error is known.

    The error is taken to be the same at every load; TTFT, far below its promise, is
    taken as predicted.

    Raises:
        ValueError: not even the smallest load keeps the promises.
    """
    return most_kept(load.at(1 / (1 + error), ttft=1.0) for load in loads())


@dataclass(frozen=True)
class TwoRuns:
    """The example's load between, corrected by its runs with fewest and most clients.

    ``ratios`` are predicted over measured of the two runs, ``mean`` their mean.
    """

    ratios: tuple[float, float]
    mean: float
    corrected_s: float
    error: float
    error_before: float


def two_runs() -> TwoRuns:
    """Divide a prediction by the mean of what two runs of its own server had."""
    few, *_, between, many = measured_loads()
    first, last = (
        round(1e3 * each.tpot.predicted_s, 2) / round(1e3 * _found_s(each), 2)
        for each in (few, many)
    )
    mean = round((first * last) ** 0.5, 3)
    corrected_s = between.tpot.predicted_s / mean
    return TwoRuns(
        (first, last),
        mean,
        corrected_s,
        corrected_s / _found_s(between) - 1,
        between.tpot.predicted_s / _found_s(between) - 1,
    )


def _found_s(load: PlannedLoad) -> float:
    assert load.tpot.measured_s is not None
    return load.tpot.measured_s
