"""What two runs of one's own server correct: the predictions of the loads between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from llmserve_lab.how_wrong import fairness
from llmserve_lab.how_wrong.decision import PlannedLoad, measured_loads
from llmserve_lab.validation.bands import TAILS


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


def runs_factor(without: str = "") -> float:
    """What nineteen in twenty loads between two own runs stay below, once corrected.

    Measured over corrected TPOT of all servers but one.
    """
    runs = fairness.between_runs("both")
    others = runs.late[np.array(runs.servers) != without]
    return float(np.percentile(others, TAILS[1]))


def runs_held() -> tuple[float, Mapping[str, float]]:
    """Share of the loads between that a factor of *other* servers held; by server."""
    runs = fairness.between_runs("both")
    server = np.array(runs.servers)
    held = {
        name: runs.late[server == name] <= runs_factor(name)
        for name in dict.fromkeys(runs.servers)
    }
    pooled = float(np.concatenate([*held.values()]).mean())
    return pooled, {name: float(each.mean()) for name, each in held.items()}


def _found_s(load: PlannedLoad) -> float:
    assert load.tpot.measured_s is not None
    return load.tpot.measured_s
