"""Error band of a prediction: how far off predictions like it were, as plain data.

What computes a band knows the measured runs (``llmserve_lab.validation``); what shows
one knows only this: errors of runs alike, none, or a limit that is no prediction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from llmserve_lab.formula.text import si

Data = dict[str, Any]

MOST_ERROR = 1e15  # larger ones are told by no digit


@dataclass(frozen=True)
class Band:
    """Errors of 90 % of the ``n`` nearest measured runs, from ``low`` to ``high``.

    An error is predicted / measured − 1. ``regime`` says what those runs were, and
    ``how`` how they were predicted. ``whole`` bands hold the errors of all ``n`` runs.
    ``truth`` bands say beside the number where a measurement would lie. The runs of a
    ``known`` one were known when the model was made, so it tells agreement, not error.

    Raises:
        ValueError: an error is not above −1, or they are in the wrong order.
    """

    low: float
    high: float
    regime: str
    n: int
    how: str = ""
    whole: bool = False
    truth: bool = False
    known: bool = False

    def __post_init__(self) -> None:
        if not -1 < self.low <= self.high:
            raise ValueError(
                "low must be above -1 and at most high, "
                f"got low {self.low} and high {self.high}"
            )

    def around(self, predicted: float) -> tuple[float, float]:
        """Where the measured value would lie: predicted / (1 + error)."""
        return predicted / (1 + self.high), predicted / (1 + self.low)

    def inverse(self) -> Band:
        """The band of a rate, given that of the time that it is one over."""
        low, high = (1 / (1 + round(error, 3)) - 1 for error in (self.high, self.low))
        return replace(self, low=low, high=high)

    @property
    def short(self) -> str:
        """The errors, as they stand beside the number."""
        which = "runs that it knew" if self.known else "runs like this"
        return f"{per_cent(self.low)}…{per_cent(self.high)} % on {which}"

    def beside(self, value: float, unit: str) -> str:
        """What stands beside a number: errors, or where the measured one would lie."""
        if not self.truth:
            return self.short
        low, high = (si(end, unit) for end in self.around(value))
        (first, *named), last = low.split(" ", 1), high.split(" ", 1)[1:]
        return f"if it errs as others did: {first if named == last else low} to {high}"

    def record(self) -> Data:
        """As a page stores it, its errors to a tenth of a per cent.

        One digit more where a range is computed of them.
        """
        digits = 4 if self.truth else 3
        errors = {"low": round(self.low, digits), "high": round(self.high, digits)}
        how = {"how": self.how} if self.how else {}
        kinds = {"whole": self.whole, "truth": self.truth, "known": self.known}
        said = {name: True for name, is_so in kinds.items() if is_so}
        return {**errors, "n": self.n, "runs": self.regime, **how, **said}

    def __str__(self) -> str:
        return f"{self.low:+.0%} … {self.high:+.0%} on {self.n} runs: {self.regime}"


@dataclass(frozen=True)
class Unmeasured:
    """No band: the setting lies outside everything measured, and why.

    A ``part`` of what was measured whole has no measurement of its own.
    """

    reason: str
    part: bool = False

    def inverse(self) -> Unmeasured:
        """That of a rate: as little measured."""
        return self

    @property
    def short(self) -> str:
        """What stands beside the number."""
        return "not measured alone" if self.part else "outside everything measured"

    def record(self) -> Data:
        """As a page stores it."""
        return {"outside": self.reason} | ({"part": True} if self.part else {})

    def __str__(self) -> str:
        return f"{self.short}: {self.reason}"


@dataclass(frozen=True)
class Limit:
    """No prediction, but a limit that nothing measured goes beyond, and why."""

    side: Literal["lower", "upper"]
    reason: str

    def inverse(self) -> Limit:
        """A lower bound of a time is an upper bound of the rate."""
        return Limit("upper" if self.side == "lower" else "lower", self.reason)

    @property
    def short(self) -> str:
        """What stands beside the number."""
        return f"{self.side} bound"

    def record(self) -> Data:
        """As a page stores it."""
        return {"limit": self.side, "why": self.reason}

    def __str__(self) -> str:
        return f"{self.side} bound: {self.reason}"


ErrorBand = Band | Unmeasured | Limit


def per_cent(error: float) -> str:
    """An error in whole per cent with its sign: ``−5``, ``+31``, ``0``."""
    if not abs(error) < MOST_ERROR:
        raise ValueError(f"error must be below {MOST_ERROR:g}, got {error}")
    # Of a tenth of a per cent first: the page knows no more, and prints the same.
    whole = int(abs(round(1000 * error)) / 10 + 0.5)
    return "0" if not whole else f"{'−' if error < 0 else '+'}{whole}"
