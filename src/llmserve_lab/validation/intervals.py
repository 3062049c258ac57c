"""Bootstrap interval of a mean error, drawing groups of rows that belong together.

Rows of one server are nearly the same measurement, so single rows must not be drawn:
that would make the interval far too narrow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from llmserve_lab.validation.unit_work import Floats

DRAWS, SEED = 2000, 0
LEVEL = 0.95
FEWEST = 2  # groups that can be drawn anew


class Interval(NamedTuple):
    """Ends between which the means of the draws lie."""

    low: float
    high: float


def mean_interval(size: Floats, group: np.ndarray[Any, Any]) -> Interval:
    """Ends between which 95 % of the means of groups drawn with replacement lie.

    ``size`` [rows] are sizes of errors, ``group`` [rows] what each row belongs to. The
    constants are not fitted again for a draw. Percentiles, seeded.

    Raises:
        ValueError: the rows are of fewer than two groups.
    """
    from llmserve_lab.extras import stats

    names, own = np.unique(group, return_inverse=True)
    if len(names) < FEWEST:
        raise ValueError(f"group must tell {FEWEST} apart, got {len(names)}")
    drawn = stats.bootstrap(
        (np.bincount(own, weights=size), np.bincount(own)),
        _pooled,
        paired=True,
        vectorized=True,
        n_resamples=DRAWS,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    ends = drawn.confidence_interval
    return Interval(float(ends.low), float(ends.high))


def median_interval(size: Floats) -> Interval:
    """The same for the median of all numbers, whole groups drawn.

    ``size`` [groups, each] are sizes of errors: what is in a group belongs together.

    Raises:
        ValueError: there are fewer than two groups.
    """
    from llmserve_lab.extras import stats

    if len(size) < FEWEST:
        raise ValueError(f"size must have {FEWEST} groups, got {len(size)}")
    drawn = stats.bootstrap(
        (np.arange(len(size)),),
        lambda at, axis: np.median(size[at], axis=(axis - 1, -1)),
        vectorized=True,
        n_resamples=DRAWS,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    ends = drawn.confidence_interval
    return Interval(float(ends.low), float(ends.high))


def _pooled(total: Floats, count: Floats, axis: int = -1) -> Floats:
    """Mean over all rows of the groups drawn."""
    mean: Floats = total.sum(axis=axis) / count.sum(axis=axis)
    return mean
