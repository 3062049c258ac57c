"""Length distributions of prompts and answers, in whole tokens.

A law is asked for many lengths at once and takes its randomness from the generator it
is given; the same seed gives the same lengths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from llmserve_lab.checks import at_least, of_type, positive, whole

Integers = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
TAIL = 40  # means, beyond which a geometric length is not worth a row of its table
MOST_LONG = 10**9  # tokens of which each length has a chance of its own
MOST = 2.0**63  # tokens: from there on a length is no int64
MIN_KEPT = 1e-3  # share of draws that must fall between bounds: else they hardly meet


class LengthLaw(Protocol):
    """Anything that draws lengths."""

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` lengths in tokens, int64."""


def are_laws(**laws: object) -> None:
    """Refuse what draws no lengths, by name."""
    for name, law in laws.items():
        if not callable(getattr(law, "draw", None)):
            raise TypeError(f"{name} must be a law such as Always(100), got {law!r}")


class TabledLaw(LengthLaw, Protocol):
    """A law whose probabilities are known; equal ones must hash alike."""

    def table(self) -> tuple[Integers, Floats]:
        """Every length that matters, with its probability."""


@dataclass(frozen=True)
class Always:
    """Every length the same."""

    tokens: int

    def __post_init__(self) -> None:
        whole(of="token", tokens=self.tokens)

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` times the one length."""
        return np.full(size, self.tokens, dtype=np.int64)


@dataclass(frozen=True)
class Geometric:
    """Geometric (memoryless) lengths: after every token the answer stops with chance π.

    Lengths are ``least``, ``least`` + 1, … with P(``least`` + k) = π(1 − π)^k and
    π = 1 / (``mean`` − ``least`` + 1); the standard deviation is nearly the mean.
    """

    mean: float
    least: int = 1

    def __post_init__(self) -> None:
        whole(first=0, least=self.least)
        at_least("mean", self.mean, self.least)

    @classmethod
    def stopping(cls, p_stop: float, *, least: int = 1) -> Geometric:
        """The law that stops with chance ``p_stop`` after every token.

        Raises:
            ValueError: ``p_stop`` is not in (0, 1].
        """
        if not 0 < p_stop <= 1:
            raise ValueError(f"p_stop must be in (0, 1], got {p_stop}")
        return cls(least + (1 - p_stop) / p_stop, least)

    @property
    def p_stop(self) -> float:
        """Chance π to stop after a token."""
        return 1 / (self.mean + (1 - self.least))

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` lengths, independent."""
        return (rng.geometric(self.p_stop, size) + (self.least - 1)).astype(np.int64)

    def table(self) -> tuple[Integers, Floats]:
        """Every length that matters, with its probability; e⁻⁴⁰ is left out."""
        values: Integers = np.arange(int(TAIL * (self.mean + (1 - self.least))))
        chances: Any = self.p_stop * (1.0 - self.p_stop) ** values
        return values + self.least, chances


@dataclass(frozen=True)
class Uniform:
    """Every whole length from ``low`` to ``high`` alike; one length if they agree."""

    low: int
    high: int

    def __post_init__(self) -> None:
        whole(of="token", first=0, most=MOST_LONG, low=self.low, high=self.high)
        if self.low > self.high:
            raise ValueError(f"low must be in [0, {self.high}], got {self.low}")

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` lengths, independent."""
        return rng.integers(self.low, self.high + 1, size)

    def table(self) -> tuple[Integers, Floats]:
        """Every length with its probability."""
        values = np.arange(self.low, self.high + 1)
        return values, np.full(values.size, 1 / values.size)


@dataclass(frozen=True, kw_only=True)
class Lognormal:
    """Lengths whose logarithm is normal: many short ones, and a long tail.

    ``mean`` and ``cv`` (standard deviation over mean) are those of the lengths before
    each is rounded up to whole tokens, which adds half a token on average.
    """

    mean: float
    cv: float

    def __post_init__(self) -> None:
        positive("mean", self.mean)
        positive("cv", self.cv)

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm."""
        return math.sqrt(math.log1p(self.cv**2))

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` lengths, independent.

        Raises:
            ValueError: one is too large a number for its 64 bits.
        """
        center = math.log(self.mean) - self.sigma**2 / 2
        lengths = np.ceil(rng.lognormal(center, self.sigma, size))
        if (lengths >= MOST).any():
            raise ValueError(f"mean must keep lengths below 2⁶³ tokens, got {self}")
        return lengths.astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """Another law between two bounds, both included; what falls outside is redrawn.

    It is the law given that the length lies there, not one with heaps at the bounds.
    """

    law: LengthLaw
    low: int = 1
    high: int

    def __post_init__(self) -> None:
        are_laws(law=self.law)
        whole(of="token", low=self.low, high=self.high)
        at_least("high", self.high, self.low)

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` lengths from ``low`` to ``high``.

        Raises:
            ValueError: hardly a length of the law lies between the bounds.
        """
        kept, drawn = np.empty(0, dtype=np.int64), 0
        while kept.size < size:
            # At least 256 at a time: the share that falls inside is judged by them.
            more = self.law.draw(rng, max(size, 256))
            drawn += more.size
            inside = more[(self.low <= more) & (more <= self.high)]
            kept = np.concatenate([kept, inside])
            if kept.size < MIN_KEPT * drawn:
                raise ValueError(
                    f"low and high must hold a share of {MIN_KEPT:g} of {self.law}, "
                    f"got {kept.size} of {drawn} lengths in [{self.low}, {self.high}]"
                )
        return kept[:size]


@dataclass(frozen=True)
class Empirical:
    """Lengths that were observed, drawn again with equal chances.

    Any sequence of them will do, an array too; a tuple is kept.
    """

    observed: tuple[int, ...]

    def __post_init__(self) -> None:
        of_type(Iterable, observed=self.observed)
        object.__setattr__(self, "observed", tuple(self.observed))
        if not self.observed:
            raise ValueError("observed must hold at least 1 length, got none")
        for length in self.observed:
            whole(of="token", observed=length)

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` of the observed lengths, with replacement."""
        return rng.choice(np.asarray(self.observed, dtype=np.int64), size)
