"""A request is a prompt and an answer; a slot sees their law weighted by its steps.

A law draws pairs (prompt, answer) and knows what a full slot holds on average. A long
answer keeps its slot for long, so a look at a slot finds it more often than a short
one: all that theory needs to know of a law is mean, variance and skewness of the tokens
that such a look finds. Requests that were seen are a law too: see
:mod:`llmserve_lab.afd.traces`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
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

    ``steps`` is the mean number of steps of a request; ``theta``, ``variance`` and
    ``third`` are mean, variance and third central moment of the load.
    """

    steps: float
    theta: float
    variance: float
    third: float

    @property
    def skewness(self) -> float:
        """How lopsided the load is; 0 where it never differs."""
        return self.third / self.variance**1.5 if self.variance else 0.0


class Law(Protocol):
    """Anything that draws requests and knows its slots.

    Steps are counted as :data:`STEPS` says.
    """

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


@dataclass(frozen=True)
class Geometric:
    """Lengths 0, 1, 2, … that end with the same chance after every token."""

    mean: float

    def __post_init__(self) -> None:
        if not self.mean >= 0:
            raise ValueError(f"mean must be at least 0, got {self.mean}")

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
    """Prompt and answer drawn independently of each other."""

    prompt: Geometric | Uniform
    decode: Geometric | Uniform

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Ints, Ints]:
        """Prompts and answers of ``size`` requests."""
        return self.prompt.draw(rng, size), self.decode.draw(rng, size)

    def met(self, rng: np.random.Generator, size: int, steps: str) -> tuple[Ints, Ints]:
        """Any prompt, and an answer as a look at a slot meets it."""
        lengths, upto = _looks(self.decode, steps)
        answers = lengths[picked(rng, size, upto)]
        return self.prompt.draw(rng, size), answers

    def slot(self, steps: str = "end token") -> SlotLaw:
        """Prompt and age of a slot are independent, so their moments add."""
        return _independent(self, steps)


@cache
def _looks(decode: Geometric | Uniform, steps: str) -> tuple[Ints, Floats]:
    """Every length, and how many looks meet it or a shorter one."""
    lengths, chances = decode.table()
    return lengths, np.cumsum(STEPS[steps](lengths) * chances)


@cache
def _independent(law: Independent, steps: str) -> SlotLaw:
    lengths, chances = law.decode.table()
    lasts = np.bincount(STEPS[steps](lengths), weights=chances)
    older = 1 - np.cumsum(lasts)[:-1]  # chance to last longer than each age
    mean_steps = float(older.sum())
    age = _moments(np.arange(older.size), older / mean_steps)
    return SlotLaw(mean_steps, *(age + _moments(*law.prompt.table())).tolist())


def _moments(values: Ints, chances: Floats) -> Floats:
    """Mean, variance and third central moment of a table."""
    mean = (values * chances).sum()
    apart = [((values - mean) ** power * chances).sum() for power in (2, 3)]
    return np.array([mean, *apart])


def picked(rng: np.random.Generator, size: int, upto: Floats | Ints) -> Ints:
    """``size`` rows of a table, ``upto`` being the weights of all rows up to each."""
    rows: Ints = np.searchsorted(upto, rng.random(size) * upto[-1], side="right")
    return rows
