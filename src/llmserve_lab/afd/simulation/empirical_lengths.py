"""Empirical joint distribution: the requests of a trace, resampled (bootstrap).

Prompt and answer of a request stay together, so nothing is assumed of how the two are
correlated, nor of any tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from llmserve_lab.afd.simulation.length_distributions import (
    Floats,
    Ints,
    SlotLaw,
    steps_of,
    weighted_rows,
)


@dataclass(frozen=True, eq=False)
class JointLengths:
    """Joint empirical distribution: observed requests, drawn again with equal chances.

    ``prompts`` and ``decodes`` are any two rows of whole numbers, in tokens.

    Raises:
        ValueError: there is no request, the columns differ in length, or a length is
            negative, a fraction or no number.
    """

    prompts: Ints
    decodes: Ints

    def __post_init__(self) -> None:
        for name in ("prompts", "decodes"):
            object.__setattr__(self, name, _lengths(name, getattr(self, name)))
        if not len(self.prompts) or len(self.prompts) != len(self.decodes):
            raise ValueError(
                "a trace must have one prompt for each answer and at least one "
                f"request, got {len(self.prompts)} and {len(self.decodes)}"
            )

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Ints, Ints]:
        """Prompts and answers of ``size`` requests, rows of the trace."""
        rows = rng.integers(0, len(self.prompts), size)
        return self.prompts[rows], self.decodes[rows]

    def length_biased(
        self, rng: np.random.Generator, size: int, steps: str
    ) -> tuple[Ints, Ints]:
        """Length-biased sample of rows: each with a weight of its steps."""
        rows = weighted_rows(rng, size, np.cumsum(steps_of(self.decodes, steps)))
        return self.prompts[rows], self.decodes[rows]

    def slot(self, steps: str = "end token") -> SlotLaw:
        """Look at every step of every request of the trace."""
        lasts = steps_of(self.decodes, steps)
        mean_steps = float(lasts.mean())
        least = float(self.prompts.min())  # from there on, or large lengths lose digits
        above: Any = self.prompts - least
        sums = _power_sums(above, lasts)
        one, two, three = (float(total.mean()) / mean_steps for total in sums)
        third = three - 3 * one * two + 2 * one**3
        return SlotLaw(mean_steps, least + one, two - one**2, third)

    @cached_property
    def correlation(self) -> float:
        """Pearson's correlation of prompt and answer."""
        return float(np.corrcoef(self.prompts, self.decodes)[0, 1])


def _lengths(name: str, given: ArrayLike) -> Ints:
    """One row of 64-bit whole numbers, none below zero."""
    row = np.asarray(given)
    if row.ndim != 1:
        raise ValueError(f"{name} must be one row of lengths, got shape {row.shape}")
    wrong = row[~((row >= 0) & (row == np.floor(row)) & (row < np.inf))]
    if wrong.size:
        raise ValueError(f"{name} must be whole and at least 0, got {wrong[0]}")
    return row.astype(np.int64)


def _power_sums(first: Floats, count: Ints) -> tuple[Floats, Floats, Floats]:
    """Sums of x, x² and x³ over x = first, first + 1, … (count terms), row by row."""
    n = count.astype(np.float64)
    ones = n * (n - 1) / 2
    twos = (n - 1) * n * (2 * n - 1) / 6
    threes = ones**2
    return (
        n * first + ones,
        n * first**2 + 2 * first * ones + twos,
        n * first**3 + 3 * first**2 * ones + 3 * first * twos + threes,
    )
