"""The reader's own search: the cheapest deployment, with few simulations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

KINDS, MOST, WORLDS = 6, 16, 30
CALLS = 5 * KINDS  # halving an interval of sixteen takes at most five looks a kind

Keeps = Callable[[int, int], bool]
Cheapest = Callable[[list[float], Keeps], tuple[int, int]]


@dataclass
class World:
    """Prices of one replica by kind, and the least number of each that does.

    ``keeps(kind, replicas)`` counts how often it is asked; a number above the most
    stands for a kind that never does.
    """

    prices: list[float]
    least: list[int]
    calls: int = field(default=0)

    def keeps(self, kind: int, replicas: int) -> bool:
        """Whether so many replicas of a kind keep the level: a simulation."""
        self.calls += 1
        return replicas >= self.least[kind]

    def best(self) -> float:
        """The lowest price that does."""
        pairs = zip(self.prices, self.least, strict=True)
        return min(price * least for price, least in pairs if least <= MOST)


def world(seed: int) -> World:
    """A market drawn at random, in which at least one kind does."""
    rng = np.random.default_rng(seed)
    prices = [float(round(p, 2)) for p in rng.uniform(1, 9, KINDS)]
    least = [int(n) for n in rng.integers(3, MOST + 4, KINDS)]
    least[int(rng.integers(KINDS))] = int(rng.integers(3, MOST + 1))
    return World(prices, least)


def by_price(prices: list[float], keeps: Keeps) -> tuple[int, int]:
    """The naive version: every combination in order of its price, until one does."""
    pairs = [(kind, n) for kind in range(len(prices)) for n in range(1, MOST + 1)]
    for kind, n in sorted(pairs, key=lambda pair: prices[pair[0]] * pair[1]):
        if keeps(kind, n):
            return kind, n
    raise ValueError("no combination keeps the level")


def by_halving(prices: list[float], keeps: Keeps) -> tuple[int, int]:
    """Each kind by halving, among the numbers that are cheaper than the best so far."""
    best, price = (0, 0), MOST * max(prices) + 1
    for kind, each in enumerate(prices):
        low, high = 0, min(MOST, int(price / each))
        if high == 0 or not keeps(kind, high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if keeps(kind, middle) else (middle, high)
        if high * each < price:
            best, price = (kind, high), high * each
    return best


def check(cheapest: Cheapest) -> str:
    """Try a search on markets drawn at random; say what is missing.

    Raises:
        TypeError: the search is not a function.
    """
    if not callable(cheapest):
        raise TypeError(f"cheapest must be a function, got {cheapest!r}")
    most = 0
    for seed in range(WORLDS):
        market = world(seed)
        kind, replicas = cheapest(list(market.prices), market.keeps)
        if not (0 <= kind < KINDS and 1 <= replicas <= MOST):
            return f"not yet: {replicas} replicas of kind {kind} are not on offer"
        if replicas < market.least[kind]:
            return f"not yet: {replicas} replicas of kind {kind} do not keep the level"
        price, best = market.prices[kind] * replicas, market.best()
        if price > best + 1e-9:
            return f"not yet: {price:.2f} dollars an hour, but {best:.2f} would do"
        most = max(most, market.calls)
    if most > CALLS:
        return f"not yet: right, but up to {most} simulations; {CALLS} are enough"
    return f"well done: the cheapest in every market, with at most {most} simulations"
