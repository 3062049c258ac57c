"""Random numbers that are told: every combination of a grid, each equally likely."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from itertools import product
from typing import Any

import numpy as np


class Told:
    """A generator whose numbers were decided beforehand."""

    def __init__(self, numbers: tuple[float, ...]) -> None:
        self.numbers = list(numbers)

    def random(self) -> float:
        return self.numbers.pop(0)


def every(parts: int, draws: int) -> Iterator[Any]:
    """Generators for all combinations of the middles of ``parts`` equal intervals.

    Where every threshold is a multiple of 1/parts, each middle stands exactly for its
    interval, and equal weights give exact probabilities.
    """
    middles = (np.arange(parts) + 0.5) / parts
    for numbers in product(middles, repeat=draws):
        yield Told(tuple(map(float, numbers)))


def law_of_outcomes(
    act: Callable[[Any], Hashable], *, parts: int, draws: int
) -> dict[Any, float]:
    """How often an act ends how, over all combinations."""
    found: dict[Any, float] = defaultdict(float)
    for dice in every(parts, draws):
        found[act(dice)] += 1 / parts**draws
    return dict(found)
