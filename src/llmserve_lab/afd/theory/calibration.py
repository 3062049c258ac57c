"""Linear regression of measured times, with confidence intervals (Student's t)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llmserve_lab.afd.simulation.bundle import AffineTime
from llmserve_lab.afd.simulation.length_distributions import Floats

FEWEST = 3  # two points fix a line and leave nothing to judge it by


@dataclass(frozen=True)
class Fit:
    """A line, and the intervals that hold slope and intercept with the given chance."""

    line: AffineTime
    slope: tuple[float, float]
    intercept: tuple[float, float]
    confidence: float

    def __str__(self) -> str:
        (a, b), (c, d) = self.slope, self.intercept
        return (
            f"{self.line.name}: slope {self.line.slope:.4g} s ({a:.4g} to {b:.4g}), "
            f"intercept {self.line.intercept:.4g} s ({c:.4g} to {d:.4g}), "
            f"{self.confidence:.0%} confidence"
        )


def fit(
    rows: Sequence[tuple[float, float]], *, name: str, confidence: float = 0.95
) -> Fit:
    """Fit seconds = slope · load + intercept to rows of (load, seconds).

    Raises:
        ValueError: a row is no pair, there are fewer than three or all of one load, a
            load is negative or a number not finite, confidence is outside (0, 1), or
            the line is not a positive time.
    """
    from llmserve_lab.extras import stats

    table = np.asarray(rows, dtype=np.float64)
    _check(table, name, confidence)
    found = stats.linregress(table[:, 0], table[:, 1])
    line = AffineTime(float(found.slope), float(found.intercept), name)
    wide = float(stats.t.ppf((1 + confidence) / 2, df=len(table) - 2))
    by_slope, by_intercept = wide * found.stderr, wide * found.intercept_stderr
    return Fit(
        line,
        (line.slope - by_slope, line.slope + by_slope),
        (line.intercept - by_intercept, line.intercept + by_intercept),
        confidence,
    )


def _check(table: Floats, name: str, confidence: float) -> None:
    if len(table) and table.shape[1:] != (2,):
        raise ValueError(
            f"rows of {name} must be pairs of load and seconds, got {table.shape}"
        )
    if len(table) < FEWEST:
        raise ValueError(
            f"rows of {name} must be at least {FEWEST}, to judge a line by them, "
            f"got {len(table)}"
        )
    if not np.isfinite(table).all():
        raise ValueError(f"rows of {name} must be finite, got {table.tolist()}")
    if table[:, 0].min() < 0:
        raise ValueError(
            f"loads of {name} must be at least 0, got {table[:, 0].min():g}"
        )
    if np.ptp(table[:, 0]) == 0:
        raise ValueError(
            f"rows of {name} must have two loads or more, got {table[0, 0]:g} in all"
        )
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be in (0, 1), got {confidence}")
