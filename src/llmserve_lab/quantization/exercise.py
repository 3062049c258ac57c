"""The reader's own rounding to nearest: INT4 codes, with a scale for each group.

The check runs it on a row in which one group has an outlier, and looks at the codes, at
the scales, and at how far each weight is off.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from llmserve_lab.quantization.codecs import Array

Rounding = Callable[[Array, int], tuple[npt.ArrayLike, npt.ArrayLike]]
LARGEST, GROUP, GROUPS = 7, 8, 4
CLOSE = 1e-9


def row() -> Array:
    """A row of 32 weights; the third group of eight has an outlier."""
    made = np.random.default_rng(4).normal(size=GROUP * GROUPS)
    made[2 * GROUP + 3] = 9.0
    return made


def one_scale(weights: Array, group: int) -> tuple[Array, Array]:
    """The naive way: one scale for the whole row, whatever the group."""
    scale = np.abs(weights).max() / LARGEST
    scales = np.full(len(weights) // group, scale)
    return np.rint(weights / scale), scales


def a_scale_a_group(weights: Array, group: int) -> tuple[Array, Array]:
    """Give each group the scale that its own largest weight needs."""
    groups = weights.reshape(-1, group)
    largest = np.abs(groups).max(axis=1)
    scales = np.where(largest > 0, largest / 7, 1.0)
    codes = np.rint(groups / scales[:, np.newaxis])
    return codes.ravel(), scales


def check(rounding: Rounding) -> str:
    """What is still wrong with a rounding, beginning with "not yet"; or all is well.

    Raises:
        ValueError: there are not as many codes as weights, or scales as groups.
    """
    weights = row()
    codes, scales = (np.asarray(each, float) for each in rounding(weights, GROUP))
    if codes.shape != weights.shape or scales.shape != (GROUPS,):
        raise ValueError(
            f"codes and scales must have shapes {weights.shape} and {(GROUPS,)}, "
            f"got {codes.shape} and {scales.shape}"
        )
    if np.any(codes != np.rint(codes)) or np.abs(codes).max() > LARGEST:
        return f"not yet: codes must be whole numbers from -{LARGEST} to {LARGEST}."
    off = np.abs(weights - codes * np.repeat(scales, GROUP)).reshape(GROUPS, GROUP)
    best = np.abs(weights).reshape(GROUPS, GROUP).max(axis=1) / LARGEST
    wrong = np.flatnonzero(off.max(axis=1) > best / 2 + CLOSE)
    if wrong.size:
        first = wrong[0]
        return (
            f"not yet: {wrong.size} of {GROUPS} groups are off by more than half of\n"
            f"the scale that they need; group {first + 1} by {off[first].max():.2f}, "
            f"allowed {best[first] / 2:.2f}."
        )
    return _zeros(rounding)


def _zeros(rounding: Rounding) -> str:
    """A group of zeros must not divide by zero."""
    with np.errstate(all="ignore"):
        codes, scales = rounding(np.zeros(2 * GROUP), GROUP)
    if not np.all(np.isfinite(codes)) or np.any(np.asarray(scales) <= 0):
        return "not yet: a group of zeros needs a scale above zero."
    return "well done: every weight is within half the scale of its group."
