"""A request is a prompt and an answer; a slot sees their law weighted by its steps.

A law draws pairs (prompt, answer) and knows what a full slot holds on average. A long
answer keeps its slot for long, so a look finds it more often than a short one: all that
theory needs of a law is mean, variance and skewness of the tokens that a look finds.
Requests that were seen are a law too: see ``simulation.empirical_lengths``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from llmserve_lab.checks import at_least

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


def steps_of(decode: Ints, steps: str) -> Ints:
    """Steps that answers take, counted as :data:`STEPS` says."""
    if steps not in STEPS:
        raise ValueError(f"steps must be one of {', '.join(STEPS)}, got {steps!r}")
    return STEPS[steps](decode)


@dataclass(frozen=True)
class SlotLaw:
    """What a look at a slot in steady state finds, in tokens.

    ``steps`` is the mean number of steps of a request; ``theta``, ``variance`` and
    ``third`` are mean, variance and third central moment of the load.
    """

    steps: float
    theta: float
    variance: float
    third: float

    def __post_init__(self) -> None:
        for name in ("steps", "theta", "variance"):
            at_least(name, getattr(self, name), 0)

    @property
    def skewness(self) -> float:
        """How lopsided the load is; 0 where it never differs."""
        return self.third / self.variance**1.5 if self.variance else 0.0


class Law(Protocol):
    """Anything that draws requests and knows its slots; steps as in :data:`STEPS`."""

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Ints, Ints]:
        """Prompts and answers of ``size`` requests, in tokens."""
        ...

    def met(self, rng: np.random.Generator, size: int, steps: str) -> tuple[Ints, Ints]:
        """The same of requests as looks at slots meet them: the more steps, the more.

        Looks in steady state, at all steps alike.
        """
        ...

    def slot(self, steps: str = "end token") -> SlotLaw:
        """What a slot holds."""
        ...


class Lengths(Protocol):
    """A law of one length, bounded or nearly so; equal ones must hash alike."""

    def draw(self, rng: np.random.Generator, size: int) -> Ints:
        """``size`` lengths."""
        ...

    def table(self) -> tuple[Ints, Floats]:
        """Every length that matters, with its probability."""
        ...


@dataclass(frozen=True)
class Geometric:
    """Lengths 0, 1, 2, … that end with the same chance after every token."""

    mean: float

    def __post_init__(self) -> None:
        at_least("mean", self.mean, 0)

    @classmethod
    def stopping(cls, p_stop: float) -> Geometric:
        """The law that ends with chance ``p_stop`` at each step."""
        if not 0 < p_stop <= 1:
            raise ValueError(f"p_stop must be in (0, 1], got {p_stop}")
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
    """Prompt and answer drawn independently of each other, each by any law."""

    prompt: Lengths
    decode: Lengths

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Ints, Ints]:
        """Prompts and answers of ``size`` requests."""
        return self.prompt.draw(rng, size), self.decode.draw(rng, size)

    def met(self, rng: np.random.Generator, size: int, steps: str) -> tuple[Ints, Ints]:
        """Any prompt, and an answer as a look at a slot meets it."""
        lengths, upto = _looks(self, steps)
        answers = lengths[picked(rng, size, upto)]
        return self.prompt.draw(rng, size), answers

    def slot(self, steps: str = "end token") -> SlotLaw:
        """Prompt and age of a slot are independent, so their moments add."""
        return _independent(self, steps)


@cache
def _looks(law: Independent, steps: str) -> tuple[Ints, Floats]:
    """Every answer's length, and how many looks meet it or a shorter one."""
    lengths, chances = law.decode.table()
    return lengths, np.cumsum(steps_of(lengths, steps) * chances)


@cache
def _independent(law: Independent, steps: str) -> SlotLaw:
    lengths, chances = law.decode.table()
    lasts = np.bincount(steps_of(lengths, steps), weights=chances)
    older = 1 - np.cumsum(lasts)[:-1]  # chance to last longer than each age
    mean_steps = float(older.sum())
    age = moments(np.arange(older.size), older / mean_steps)
    return SlotLaw(mean_steps, *(age + moments(*law.prompt.table())).tolist())


def moments(values: Ints, chances: Floats) -> Floats:
    """Mean, variance and third central moment of a table."""
    mean = (values * chances).sum()
    apart = [((values - mean) ** power * chances).sum() for power in (2, 3)]
    return np.array([mean, *apart])


def picked(rng: np.random.Generator, size: int, upto: Floats | Ints) -> Ints:
    """``size`` rows of a table, ``upto`` being the weights of all rows up to each."""
    rows: Ints = np.searchsorted(upto, rng.random(size) * upto[-1], side="right")
    return rows
