"""A printed number is an interval: its last digit says how far it may be trusted.

"5.7" stands for everything that rounds to it, 5.65 to 5.75; there is no need for a
tolerance. Prefixes mean what SI says they mean; a KB of 1024 bytes is a *reading* that
a claim must name (see :mod:`llmserve_lab.claims.record`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

NUMERAL = r"\d+(?:,\d{3})*(?:\.\d+)?"
PREFIXES: dict[str, float] = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
}
PREFIXES |= {"m": 1e-3}
PREFIXES |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
WORDS = {"": "", "B": "byte", "FLOP": "FLOP", "FLOPs": "FLOP", "s": "s"}
PLAIN = {"token": "token", "tokens": "token", "steps": "1", "byte": "byte"}
PLAIN |= {"×": "dimensionless", "orders": "dimensionless"}
RELATIONS = {"<": float.__lt__, ">": float.__gt__, "≤": float.__le__, "≥": float.__ge__}

SHAPE = re.compile(
    r"(?P<about>[~≈]?)\s*(?P<relation>[<>≤≥]?)\s*(?P<times>×?)"
    rf"(?P<low>{NUMERAL})(?:\s*[–-]\s*(?P<high>{NUMERAL}))?\s*"
    r"(?:(?P<prefix>[kKMGT]i?|m(?=[BFs])|)(?P<word>B|FLOPs?|s|)|(?P<plain>[a-z]+|×))"
    r"(?:/(?P<per>[a-z]+))?"
)


@dataclass(frozen=True)
class Printed:
    """A number as a source prints it: one number, a range, or a bound.

    ``low`` and ``high`` are the ends (equal for one number), ``half_low`` and
    ``half_high`` half a unit of their last significant digit, all in SI base units.
    ``unit`` is the book's name of the printed unit, empty where none is printed;
    ``prefix`` is the printed one, whose size is ``scale``, ``digits`` how many digits
    are printed.
    """

    text: str
    relation: str
    low: float
    high: float
    half_low: float
    half_high: float
    unit: str
    prefix: str
    scale: float
    digits: int

    @property
    def interval(self) -> tuple[float, float]:
        """Everything that rounds to the printed digits, both ends included."""
        return self.low - self.half_low, self.high + self.half_high

    @property
    def is_range(self) -> bool:
        """Whether two ends are printed: ``4–8×``."""
        return self.low < self.high

    def states(self, value: float) -> bool:
        """Whether ``value`` equals it, lies in the range, or keeps the bound."""
        if self.relation:
            return RELATIONS[self.relation](value, self.low)
        return _between(self.low, value, self.high)

    def admits(self, value: float) -> bool:
        """Whether ``value`` is what is printed once it is rounded to as many digits."""
        low, high = self.interval
        if self.relation:
            return self.states(value) or RELATIONS[self.relation](
                value, low if self.relation in ">≥" else high
            )
        return _between(low, value, high)


def parse(text: str) -> Printed:
    """Read a printed number: ``"~5.7"``, ``"14 GB"``, ``"27 k"``, ``"4–8×"``.

    After ~ or ≈ the zeros that end a whole number are not significant: "≈ 2000" has one
    digit, "2000" has four.

    Raises:
        ValueError: the text is no such number, or a range that runs downwards.
    """
    match = SHAPE.fullmatch(text.strip())
    if not match or (match["plain"] and match["plain"] not in PLAIN):
        raise ValueError(f"printed must read like '~5.7' or '14 GB', got {text!r}")
    prefix = match["prefix"] or ""
    scale = PREFIXES[prefix]
    about = bool(match["about"])
    low, high = match["low"], match["high"] or match["low"]
    if _number(low) > _number(high):
        raise ValueError(f"a printed range must run upwards, got {text!r}")
    return Printed(
        text=text,
        relation=match["relation"],
        low=_number(low) * scale,
        high=_number(high) * scale,
        half_low=_half_unit(low, about=about) * scale,
        half_high=_half_unit(high, about=about) * scale,
        unit=_unit(match),
        prefix=prefix,
        scale=scale,
        digits=sum(map(str.isdigit, low)),
    )


def _number(numeral: str) -> float:
    return float(numeral.replace(",", ""))


def _half_unit(numeral: str, *, about: bool) -> float:
    """Half a unit of the last significant digit."""
    digits = numeral.replace(",", "")
    if "." in digits:
        return 0.5 * math.pow(10, -len(digits.partition(".")[2]))
    zeros = len(digits) - len(digits.rstrip("0")) if about and int(digits) else 0
    return 0.5 * math.pow(10, zeros)


def _unit(match: re.Match[str]) -> str:
    if match["times"]:
        return PLAIN["×"]
    head = PLAIN[match["plain"]] if match["plain"] else WORDS[match["word"]]
    return f"{head}/{match['per']}" if match["per"] else head


def _between(low: float, value: float, high: float) -> bool:
    """Closed interval, blind to the last bits of a float."""
    near = (math.isclose(value, end, rel_tol=1e-12) for end in (low, high))
    return low <= value <= high or any(near)
