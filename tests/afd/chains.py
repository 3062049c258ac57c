"""A slot as a table of chances: who is in it, at which age, one step after another."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

Found = tuple[int, int]  # prompt and age of whoever is in the slot


@dataclass
class Chain:
    """The chances of one slot, moved on step by step; any prompt is as likely."""

    p_stop: float
    prompts: list[int]
    chances: dict[Found, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chances = self._newcomers(1.0)

    def _newcomers(self, share: float) -> dict[Found, float]:
        found: dict[Found, float] = {}
        for prompt in self.prompts:
            found[prompt, 0] = found.get((prompt, 0), 0) + share / len(self.prompts)
        return found

    def step(self) -> None:
        """Whoever is there grows by a token, or leaves and is replaced."""
        after = self._newcomers(self.p_stop)
        for (prompt, age), chance in self.chances.items():
            if chance > 1e-18:
                after[prompt, age + 1] = chance * (1 - self.p_stop)
        self.chances = after

    def walk(self, n_steps: int) -> Chain:
        """So many steps."""
        for _ in range(n_steps):
            self.step()
        return self

    @property
    def age(self) -> float:
        """Expected tokens generated so far."""
        return sum(chance * age for (_, age), chance in self.chances.items())

    @property
    def tokens(self) -> float:
        """Expected tokens that attention reads."""
        return sum(chance * sum(found) for found, chance in self.chances.items())

    @property
    def variance(self) -> float:
        """Variance of those tokens."""
        mean = self.tokens
        return sum(c * (sum(found) - mean) ** 2 for found, c in self.chances.items())


def drawn(rng: random.Random) -> tuple[Chain, int]:
    """A slot that has just been filled, and how many such slots there are."""
    prompts = [rng.randint(1, 9) for _ in range(rng.randint(1, 4))]
    return Chain(rng.uniform(0.1, 0.7), prompts), rng.randint(1, 6)


def mean(values: list[int]) -> float:
    return sum(values) / len(values)
