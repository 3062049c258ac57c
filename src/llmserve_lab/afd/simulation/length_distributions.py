"""Joint length distributions of prompt and answer, and the load of a slot under them.

A law draws pairs (prompt, answer) and knows what a full slot holds in steady state.
That is a length-biased distribution (the inspection paradox): a long answer keeps its
slot for long, so a random look finds it more often than a short one. Theory needs mean,
variance and skewness of the tokens that a look finds. The lengths themselves are those
of :mod:`llmserve_lab.workloads.lengths`, from 0 tokens on; observed requests are a law
too: see ``simulation.empirical_lengths``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Protocol

import numpy as np

from llmserve_lab.checks import at_least, key_of
from llmserve_lab.workloads.lengths import Floats as Floats
from llmserve_lab.workloads.lengths import Geometric as Geometric
from llmserve_lab.workloads.lengths import Integers, TabledLaw
from llmserve_lab.workloads.lengths import Uniform as Uniform

Ints = Integers


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
    key_of("steps", steps, STEPS)
    return STEPS[steps](decode)


@dataclass(frozen=True)
class SlotLaw:
    """Load of one slot in steady state (length-biased), in tokens.

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

    def length_biased(
        self, rng: np.random.Generator, size: int, steps: str
    ) -> tuple[Ints, Ints]:
        """Length-biased sample: the request in a random slot at a random step.

        The inspection paradox: a request is found with a weight of its steps.
        """
        ...

    def slot(self, steps: str = "end token") -> SlotLaw:
        """What a slot holds."""
        ...


@dataclass(frozen=True)
class Independent:
    """Prompt and answer drawn independently of each other, each by any law."""

    prompt: TabledLaw
    decode: TabledLaw

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Ints, Ints]:
        """Prompts and answers of ``size`` requests."""
        return self.prompt.draw(rng, size), self.decode.draw(rng, size)

    def length_biased(
        self, rng: np.random.Generator, size: int, steps: str
    ) -> tuple[Ints, Ints]:
        """Length-biased sample: any prompt, an answer with a weight of its steps."""
        lengths, upto = _looks(self, steps)
        answers = lengths[weighted_rows(rng, size, upto)]
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


def weighted_rows(rng: np.random.Generator, size: int, upto: Floats | Ints) -> Ints:
    """Inverse-CDF sample of ``size`` rows; ``upto`` are the cumulative weights."""
    rows: Ints = np.searchsorted(upto, rng.random(size) * upto[-1], side="right")
    return rows
