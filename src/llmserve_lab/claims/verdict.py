"""Five verdicts, from "exact" to "cannot be checked", in words and not by colour."""

from __future__ import annotations

from enum import Enum


class Ruling(Enum):
    """How a claim fares when it is recomputed; later ones are worse."""

    EXACT = "exact"
    WITHIN_ROUNDING = "within rounding"
    INCONSISTENT = "inconsistent"
    WRONG = "wrong"
    CANNOT_BE_CHECKED = "cannot be checked"

    @property
    def symbol(self) -> str:
        """One character that stands before the word."""
        return {
            Ruling.EXACT: "=",
            Ruling.WITHIN_ROUNDING: "≈",
            Ruling.INCONSISTENT: "≠",
            Ruling.WRONG: "✗",
            Ruling.CANNOT_BE_CHECKED: "?",
        }[self]

    def __str__(self) -> str:
        return f"{self.symbol} {self.value}"


OFF, FALSE = "number off", "statement false"  # the two words of "wrong"


def worst(verdicts: tuple[Ruling, ...]) -> Ruling:
    """A claim is as good as its worst part; without parts it cannot be checked."""
    order = list(Ruling)
    return max(verdicts, key=order.index, default=Ruling.CANNOT_BE_CHECKED)
