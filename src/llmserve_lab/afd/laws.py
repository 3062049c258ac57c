"""A request is a prompt and an answer; a slot sees their law weighted by its steps.

A law draws pairs (prompt, answer) and knows what a full slot holds on average. A long
answer keeps its slot for long, so a look at a slot finds it more often than a short
one: all that theory needs to know of a law is mean and variance of the tokens that such
a look finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]


def end_token(decode: Ints) -> Ints:
    """D + 1 steps: the step that finds the end of the answer is a step too."""
    return decode + 1


def one_each(decode: Ints) -> Ints:
    """A step for each token; an answer of no token keeps its slot for one step."""
    return np.maximum(decode, 1)


STEPS: Mapping[str, Callable[[Ints], Ints]] = MappingProxyType(
    {"end token": end_token, "one each": one_each}
)


@dataclass(frozen=True)
class SlotLaw:
    """What a look at a slot in steady state finds, in tokens.

    ``steps`` is the mean number of steps of a request, ``theta`` and ``variance`` are
    mean and variance of the load.
    """

    steps: float
    theta: float
    variance: float


class Law(Protocol):
    """Anything that draws requests and knows its slots."""

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Ints, Ints]:
        """Prompts and answers of ``size`` requests, in tokens."""
        ...

    def slot(self, steps: str = "end token") -> SlotLaw:
        """What a slot holds, with steps counted as :data:`STEPS` says."""
        ...


@dataclass(frozen=True)
class Geometric:
    """Lengths 0, 1, 2, … that end with the same chance after every token."""

    mean: float

    def __post_init__(self) -> None:
        if not self.mean > 0:
            raise ValueError(f"mean must be positive, got {self.mean}")

    @classmethod
    def stopping(cls, p_stop: float) -> Geometric:
        """The law that ends with chance ``p_stop`` at each step."""
        if not 0 < p_stop < 1:
            raise ValueError(f"p_stop must be above 0 and below 1, got {p_stop}")
        return cls((1 - p_stop) / p_stop)

    def draw(self, rng: np.random.Generator, size: int) -> Ints:
        """``size`` lengths."""
        return rng.geometric(1 / (1 + self.mean), size) - 1

    def table(self) -> tuple[Ints, Floats]:
        """Every length that matters, with its probability."""
        stop = 1 / (1 + self.mean)
        values: Ints = np.arange(int(40 * (1 + self.mean)))
        chances: Any = stop * (1.0 - stop) ** values
        return values, chances


@dataclass(frozen=True)
class Uniform:
    """Every whole length from ``low`` to ``high`` alike; one length if they agree."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise ValueError(f"low must be in [0, {self.high}], got {self.low}")

    def draw(self, rng: np.random.Generator, size: int) -> Ints:
        """``size`` lengths."""
        return rng.integers(self.low, self.high + 1, size)

    def table(self) -> tuple[Ints, Floats]:
        """Every length with its probability."""
        values = np.arange(self.low, self.high + 1)
        return values, np.full(values.size, 1 / values.size)


@dataclass(frozen=True)
class Independent:
    """Prompt and answer drawn independently of each other."""

    prompt: Geometric | Uniform
    decode: Geometric | Uniform

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Ints, Ints]:
        """Prompts and answers of ``size`` requests."""
        return self.prompt.draw(rng, size), self.decode.draw(rng, size)

    def slot(self, steps: str = "end token") -> SlotLaw:
        """Prompt and age of a slot are independent, so means and variances add."""
        return _independent(self, steps)


@cache
def _independent(law: Independent, steps: str) -> SlotLaw:
    lengths, chances = law.decode.table()
    lasts = np.bincount(STEPS[steps](lengths), weights=chances)
    older = 1 - np.cumsum(lasts)[:-1]  # chance to last longer than each age
    mean_steps = float(older.sum())
    age, age_variance = _moments(np.arange(older.size), older / mean_steps)
    prompt, prompt_variance = _moments(*law.prompt.table())
    return SlotLaw(mean_steps, age + prompt, age_variance + prompt_variance)


def _moments(values: Ints, chances: Floats) -> tuple[float, float]:
    """Mean and variance of a table."""
    mean = float((values * chances).sum())
    return mean, float(((values - mean) ** 2 * chances).sum())


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

    def slot(self, steps: str = "end token") -> SlotLaw:
        """Look at every step of every request of the trace."""
        lasts = STEPS[steps](np.asarray(self.decodes))
        prompts = np.asarray(self.prompts, dtype=np.float64)
        mean_steps = float(lasts.mean())
        sums = _power_sums(prompts, lasts)
        one, two = (float(total.mean()) / mean_steps for total in sums)
        return SlotLaw(mean_steps, one, two - one**2)

    @cached_property
    def correlation(self) -> float:
        """Pearson's correlation of prompt and answer."""
        return float(np.corrcoef(self.prompts, self.decodes)[0, 1])


def _power_sums(first: Floats, count: Ints) -> tuple[Floats, Floats]:
    """Sums of x and x² over x = first, first + 1, … (count terms), row by row."""
    n = count.astype(np.float64)
    ones = n * (n - 1) / 2
    twos = (n - 1) * n * (2 * n - 1) / 6
    return n * first + ones, n * first**2 + 2 * first * ones + twos
