"""A trace is a law: what was asked once is asked again, in any order.

Prompt and answer of a request stay together, so nothing is assumed of how the two hang
together, nor of any tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from llmserve_lab.afd.laws import STEPS, Floats, Ints, SlotLaw, picked


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests that were seen, drawn again at random, prompt and answer together.

    Raises:
        ValueError: there is no request, or the columns differ in length.
    """

    prompts: Ints
    decodes: Ints

    def __post_init__(self) -> None:
        if not len(self.prompts) or len(self.prompts) != len(self.decodes):
            raise ValueError(
                "a trace must have one prompt for each answer and at least one "
                f"request, got {len(self.prompts)} and {len(self.decodes)}"
            )

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Ints, Ints]:
        """Prompts and answers of ``size`` requests, rows of the trace."""
        rows = rng.integers(0, len(self.prompts), size)
        return self.prompts[rows], self.decodes[rows]

    def met(self, rng: np.random.Generator, size: int, steps: str) -> tuple[Ints, Ints]:
        """Rows of the trace as looks at slots meet them."""
        rows = picked(rng, size, np.cumsum(STEPS[steps](self.decodes)))
        return self.prompts[rows], self.decodes[rows]

    def slot(self, steps: str = "end token") -> SlotLaw:
        """Look at every step of every request of the trace."""
        lasts = STEPS[steps](np.asarray(self.decodes))
        prompts = np.asarray(self.prompts, dtype=np.float64)
        mean_steps = float(lasts.mean())
        sums = _power_sums(prompts, lasts)
        one, two, three = (float(total.mean()) / mean_steps for total in sums)
        third = three - 3 * one * two + 2 * one**3
        return SlotLaw(mean_steps, one, two - one**2, third)

    @cached_property
    def correlation(self) -> float:
        """Pearson's correlation of prompt and answer."""
        return float(np.corrcoef(self.prompts, self.decodes)[0, 1])


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
