"""Time, one tick after another: a unit that works in some ticks out of every ten."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Unit:
    """Does ``per_tick`` in the first ``duty`` ticks of every ten; rests then."""

    per_tick: Fraction
    duty: int

    @property
    def efficiency(self) -> float:
        """The share of ticks in which the unit works."""
        return sum(self.works(tick) for tick in range(10)) / 10

    def works(self, tick: int) -> bool:
        """Whether the unit works in this tick."""
        return tick % 10 < self.duty

    def done(self, ticks: int) -> Fraction:
        """How much it has done after so many ticks."""
        total = Fraction(0)
        for tick in range(ticks):
            total += self.per_tick * self.works(tick)
        return total

    def ticks_for(self, *amounts: float) -> int:
        """Full rounds of ten ticks until the amounts, one after another, are done."""
        ticks, left = 0, [Fraction(amount) for amount in amounts]
        while any(left):
            budget = self.per_tick * self.works(ticks)
            for index, amount in enumerate(left):
                spent = min(amount, budget)
                left[index], budget = amount - spent, budget - spent
            ticks += 1
        return ticks + -ticks % 10


def unit_for(amount: float, *, duty: int, rounds: int) -> Unit:
    """A unit that does ``amount`` in exactly ``rounds`` rounds of ten ticks."""
    return Unit(Fraction(amount) / (duty * rounds), duty)
