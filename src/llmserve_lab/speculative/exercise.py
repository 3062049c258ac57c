"""The reader's own accept-or-reject, checked by enumeration of all its random numbers.

The laws are in quarters, so that every threshold lies on a grid: when the function is
run once for each combination of the grid's middles, the law of what it returns is
exact, without a single random number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Protocol

import numpy as np

WORDS = ("tea", "milk", "juice")
DRAFT = (0.25, 0.5, 0.25)  # q, the draft's law
TARGET = (0.5, 0.25, 0.25)  # p, the target's law
PARTS = 8  # of the grid of each random number
CLOSE = 1e-12


class Dice(Protocol):
    """A source of numbers between 0 and 1."""

    def random(self) -> float:
        """The next number."""


Law = Sequence[float]
Accept = Callable[[int, Law, Law, Dice], int]


class Told:
    """Dice whose numbers were decided beforehand.

    Raises:
        ValueError: more numbers are asked for than there are.
    """

    def __init__(self, numbers: Sequence[float]) -> None:
        self.numbers = list(numbers)

    def random(self) -> float:
        """The next of the numbers."""
        if not self.numbers:
            raise ValueError("at most two random numbers may be drawn, got a third")
        return self.numbers.pop(0)


def pick(law: Law, dice: Dice) -> int:
    """A token drawn from a law that need not sum to one."""
    return int(np.searchsorted(np.cumsum(law), dice.random() * sum(law), side="right"))


def redrawn_from_the_target(x: int, p: Law, q: Law, dice: Dice) -> int:
    """The naive version: what is rejected is replaced by a draw from p itself."""
    if dice.random() < min(1.0, p[x] / q[x]):
        return x
    return pick(p, dice)


def drawn_from_the_residual(x: int, p: Law, q: Law, dice: Dice) -> int:
    """The algorithm: what is rejected is replaced from what p has more than q."""
    if dice.random() < min(1.0, p[x] / q[x]):
        return x
    more = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    return pick(more, dice)


def law_of(accept: Accept) -> list[float]:
    """The exact law of the token that a function returns, over all drafts and dice."""
    found = [0.0] * len(WORDS)
    grid = [(i + 0.5) / PARTS for i in range(PARTS)]
    for x, chance in enumerate(DRAFT):
        for numbers in product(grid, repeat=2):
            token = accept(x, TARGET, DRAFT, Told(numbers))
            if token not in range(len(WORDS)):
                raise ValueError(f"token must be 0 to {len(WORDS) - 1}, got {token!r}")
            found[token] += chance / PARTS**2
    return found


def check(accept: Accept) -> str:
    """What is still wrong, beginning with "not yet"; or that all is well.

    Raises:
        TypeError: what is given is no function.
        ValueError: it returns no token, or draws a third number.
    """
    if not callable(accept):
        raise TypeError(f"accept must be a function, got {accept!r}")
    found = law_of(accept)
    for word, has, should in zip(WORDS, found, TARGET, strict=True):
        if abs(has - should) > CLOSE:
            return (
                f"not yet: {word} comes with chance {has:.4f},\n"
                f"the target gives it {should:.4f}."
            )
    return "well done: every word comes with the target's chance, exactly."
