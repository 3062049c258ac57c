"""Length laws of prompts and outputs: whole numbers of tokens, at least one.

A law is asked for many lengths at once and takes its randomness from the generator it
is given; the same seed gives the same lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from llmserve_lab.checks import at_least, positive, whole

Integers = np.ndarray[Any, np.dtype[np.int64]]
MOST = 2.0**63  # tokens: from there on a length is no int64
MIN_KEPT = 1e-3  # share of draws that must fall between bounds: else they hardly meet


class LengthLaw(Protocol):
    """Anything that draws lengths."""

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` lengths in tokens, int64."""


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
    """Geometric (memoryless) law: every token is the last with chance π = 1 / ``mean``.

    P(D = k) = π(1 − π)^(k − 1) for k ≥ 1; the standard deviation is nearly the mean.
    """

    mean: float

    def __post_init__(self) -> None:
        at_least("mean", self.mean, 1)

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` lengths, independent."""
        return rng.geometric(1 / self.mean, size).astype(np.int64)


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
        whole(of="token", low=self.low, high=self.high)
        at_least("high", self.high, self.low)

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` lengths from ``low`` to ``high``.

        Raises:
            ValueError: hardly a length of the law lies between the bounds.
        """
        kept, drawn = np.empty(0, dtype=np.int64), 0
        while kept.size < size:
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
        object.__setattr__(self, "observed", tuple(self.observed))
        if not self.observed:
            raise ValueError("observed must hold at least 1 length, got none")
        for length in self.observed:
            whole(of="token", observed=length)

    def draw(self, rng: np.random.Generator, size: int) -> Integers:
        """``size`` of the observed lengths, with replacement."""
        return rng.choice(np.asarray(self.observed, dtype=np.int64), size)
