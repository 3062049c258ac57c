"""A printed number is an interval: its last digit says how far it may be trusted.

"5.7" stands for everything that rounds to it, 5.65 up to but not including 5.75; there
is no need for a tolerance. Two rules keep a few digits from excusing too much or too
little: one digit alone is trusted to an eighth at most (what half a unit is for a 4),
so that "2×" is not 1.5 and "~100 k" not 53 k; and "about" vouches for two digits at
most, so that "~225" is 220 to 230. A bound is kept or it is not. Prefixes mean what SI
says they mean; a KB of 1024 bytes is a *reading* that a claim must name (see
:mod:`llmserve_lab.claims.parts`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

NUMERAL = r"\d+(?:,\d{3})*(?:\.\d+)?"
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
PREFIXES: dict[str, float] = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
}
PREFIXES |= {"m": 1e-3}
PREFIXES |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
WORDS = {"": "", "B": "byte", "F": "FLOP", "FLOP": "FLOP", "FLOPs": "FLOP", "s": "s"}
PLAIN = {"token": "token", "tokens": "token", "steps": "1", "byte": "byte"}
PLAIN |= {"×": "dimensionless", "orders": "dimensionless"}
RELATIONS = {"<": float.__lt__, ">": float.__gt__, "≤": float.__le__, "≥": float.__ge__}
MOST_OF_ONE_DIGIT = 1 / 8  # half a unit of 4, the digit in the middle of a decade
MOST_ABOUT = 2  # digits that "about" vouches for

SHAPE = re.compile(
    r"(?P<about>[~≈]?)\s*(?P<relation>[<>≤≥]?)\s*(?P<times>×?)"
    rf"(?P<low>{NUMERAL})(?:\s*[–-]\s*(?P<high>{NUMERAL}))?"
    r"(?:\s*×\s*10(?P<power>[⁰¹²³⁴⁵⁶⁷⁸⁹]+))?\s*"
    r"(?:(?P<prefix>[kKMGTP]i?|m(?=[BFs])|)(?P<word>B|FLOPs?|F|s|)|(?P<plain>[a-z]+|×))"
    r"(?:/(?P<per>[a-z]+))?"
)


@dataclass(frozen=True)
class Printed:
    """A number as a source prints it: one number, a range, or a bound.

    ``low`` and ``high`` are the ends (equal for one number), ``half_low`` and
    ``half_high`` half a unit of their last significant digit, all in SI base units.
    ``unit`` is the book's name of the printed unit, empty where none is printed;
    ``prefix`` is the printed one, whose size is ``scale``, ``digits`` how many digits
    are printed, ``significant`` how many of them (of the low end) count.
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
    significant: int

    @property
    def interval(self) -> tuple[float, float]:
        """Everything that is admitted, the upper end not included."""
        if self.is_range or self.significant > 1:
            return self.low - self.half_low, self.high + self.half_high
        half = min(self.half_low, MOST_OF_ONE_DIGIT * self.low or math.inf)
        return self.low - half, self.high + half

    @property
    def is_range(self) -> bool:
        """Whether two ends are printed: ``4–8×``."""
        return self.low < self.high

    def states(self, *ends: float) -> bool:
        """Whether that is the number printed, the range end by end, or in the bound."""
        if self.relation:
            return all(RELATIONS[self.relation](end, self.low) for end in ends)
        printed = (self.low, self.high) if self.is_range else (self.low,)
        return len(printed) == len(ends) and all(map(_same, printed, ends))

    def admits(self, *ends: float) -> bool:
        """Whether that is what is printed once it is rounded to as many digits.

        Of two ranges both ends must agree. One number may lie anywhere in a printed
        range, and a printed number anywhere in a range of ends recomputed.
        """
        if self.relation or self.states(*ends):
            return self.states(*ends)
        if len(ends) == 1:
            return _within(self.interval, ends[0])
        return self.rounds_to(*ends) if self.is_range else self._lies_in(ends)

    def rounds_to(self, *ends: float) -> bool:
        """Whether the printed digits come out when it is rounded, however few."""
        if self.relation:
            return self.states(*ends)
        low = self.low - self.half_low, self.low + self.half_low
        high = self.high - self.half_high, self.high + self.half_high
        if len(ends) == 1:
            return _within((low[0], high[1]), ends[0])
        if not self.is_range:
            return self._lies_in(ends)
        return _within(low, min(ends)) and _within(high, max(ends))

    def off_by(self, *ends: float) -> float:
        """Printed over recomputed, at the end that is worse; 1 inside a range."""
        if self.states(*ends) or (self.relation and self.admits(*ends)):
            return 1.0
        if len(ends) == 2 and self.is_range:
            ratios = (self.low / min(ends), self.high / max(ends))
            return max(ratios, key=factor)
        return _nearest((self.low, self.high), (min(ends), max(ends)))

    def _lies_in(self, ends: tuple[float, ...]) -> bool:
        return min(ends) <= self.low <= max(ends)


def factor(ratio: float) -> float:
    """How many times too large or too small: at least 1, infinite from 0 down."""
    return max(ratio, 1 / ratio) if ratio > 0 else math.inf


def parse(text: str) -> Printed:
    """Read a printed number: ``"~5.7"``, ``"14 GB"``, ``"4 × 10¹⁴"``, ``"4–8×"``.

    After ~ or ≈ the zeros that end a whole number are not significant, nor is a third
    digit: "≈ 2000" has one digit, "2000" has four, "~225" two.

    Raises:
        ValueError: the text is no such number, or a range that runs downwards.
    """
    match = SHAPE.fullmatch(text.strip())
    if not match or (match["plain"] and match["plain"] not in PLAIN):
        raise ValueError(f"printed must read like '~5.7' or '14 GB', got {text!r}")
    prefix = match["prefix"] or ""
    power = int((match["power"] or "0").translate(RAISED))
    scale = PREFIXES[prefix] * 10**power
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
        significant=len(_significant(low, about=about)),
    )


def _number(numeral: str) -> float:
    return float(numeral.replace(",", ""))


def _significant(numeral: str, *, about: bool) -> str:
    """The digits that count."""
    digits = numeral.replace(",", "")
    if about and "." not in digits:
        digits = digits.rstrip("0")
    found = digits.replace(".", "").lstrip("0")
    return found[:MOST_ABOUT] if about else found


def _half_unit(numeral: str, *, about: bool) -> float:
    """Half a unit of the last significant digit."""
    plain = numeral.replace(",", "")
    written = plain.replace(".", "").lstrip("0")
    places = len(plain.partition(".")[2])
    dropped = len(written) - len(_significant(numeral, about=about))
    return 0.5 * math.pow(10, dropped - places)


def _unit(match: re.Match[str]) -> str:
    if match["times"]:
        return PLAIN["×"]
    head = PLAIN[match["plain"]] if match["plain"] else WORDS[match["word"]]
    return f"{head}/{match['per']}" if match["per"] else head


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-12)


def _within(interval: tuple[float, float], value: float) -> bool:
    """Half-open, as half a unit is rounded up; blind to the last bits of a float."""
    low, high = interval
    return (low <= value or _same(low, value)) and value < high * (1 - 1e-12)


def _nearest(printed: tuple[float, float], ends: tuple[float, float]) -> float:
    """Ratio of the nearest ends of two intervals; 1 where they overlap."""
    if printed[0] <= ends[1] and ends[0] <= printed[1]:
        return 1.0
    near = (printed[1], ends[0]) if printed[1] < ends[0] else (printed[0], ends[1])
    return near[0] / near[1] if near[1] else math.inf
