"""Five verdicts, from "exact" to "cannot be checked", in words and not by colour."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
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
            Verdict.EXACT: "=",
            Verdict.WITHIN_ROUNDING: "≈",
            Verdict.INCONSISTENT: "≠",
            Verdict.WRONG: "✗",
            Verdict.CANNOT_BE_CHECKED: "?",
        }[self]

    @property
    def meaning(self) -> str:
        """What has to be so for this verdict."""
        return {
            Verdict.EXACT: "the number recomputed is the number printed, or the "
            "statement holds",
            Verdict.WITHIN_ROUNDING: "it rounds to the digits printed",
            Verdict.INCONSISTENT: "it does not, but would under another reading of a "
            "unit or a definition, one that the source does not keep to",
            Verdict.WRONG: "no reading gives it, or the statement does not hold",
            Verdict.CANNOT_BE_CHECKED: "there is nothing to compute",
        }[self]

    def __str__(self) -> str:
        return f"{self.symbol} {self.value}"


def worst(verdicts: tuple[Verdict, ...]) -> Verdict:
    """A claim is as good as its worst part; without parts it cannot be checked."""
    order = list(Verdict)
    return max(verdicts, key=order.index, default=Verdict.CANNOT_BE_CHECKED)
