"""What two runs of one's own server correct: the predictions of the loads between."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.how_wrong.decision import PlannedLoad, measured_loads


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
