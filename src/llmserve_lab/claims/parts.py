"""What can be compared in a claim: a number, a size, a statement, two passages.

Each part derives its own verdict and says by which factor the source is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from llmserve_lab.claims.printed import Printed, factor, parse
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.text import plain, said

Value = float | tuple[float, ...]  # a number, or several, such as the ends of a range
Recompute = Callable[[], Value]
NO_READINGS: Mapping[str, Recompute] = MappingProxyType({})
NO_CASES: Mapping[str, Callable[[], bool]] = MappingProxyType({})
NEARLY = 1 / 20  # half a unit of two digits, where they are coarsest: 10
EXCUSED = 5.0  # a number off by a larger factor has no reading that excuses it
SAME = 1e-9  # relative, of sums added in another order


@dataclass(frozen=True)
class Number:
    """A printed number and the callable that returns it in ``unit`` (SI base form).

    ``readings`` are other ways to arrive at a number, each named for what it takes the
    source to mean ("GiB printed as GB"); one that reaches the printed digits explains
    them. ``elsewhere`` is what the same source prints for it in another place.
    ``label`` tells several numbers of one claim apart.

    Raises:
        ValueError: ``printed`` is not a number, or is printed in another unit.
    """

    printed: str
    unit: str
    value: Recompute
    label: str = ""
    readings: Mapping[str, Recompute] = field(default_factory=lambda: NO_READINGS)
    elsewhere: str = ""

    def __post_init__(self) -> None:
        found = self.parsed.unit
        if found not in ("", self.unit):
            raise ValueError(f"printed must be in {self.unit}, got {self.printed!r}")

    @property
    def parsed(self) -> Printed:
        """The printed number as an interval in ``unit``."""
        return parse(self.printed)

    def judge(self) -> Ruling:
        """Recompute, and compare with the printed digits."""
        ends, printed = _ends(self.value), self.parsed
        if printed.states(*ends):
            return Ruling.EXACT
        if printed.admits(*ends) and not self._better_explained():
            return Ruling.WITHIN_ROUNDING
        excused = factor(self.ratio) <= EXCUSED and self.explanations()
        return Ruling.INCONSISTENT if excused else Ruling.WRONG

    @property
    def ratio(self) -> float:
        """Printed over recomputed."""
        return self.parsed.off_by(*_ends(self.value))

    def explanations(self) -> tuple[str, ...]:
        """Names of the readings that lead to the printed digits."""
        found = [
            name
            for name, reading in self.readings.items()
            if self.parsed.rounds_to(*_ends(reading))
        ]
        if self.elsewhere and parse(self.elsewhere).admits(*_ends(self.value)):
            found.append(f"elsewhere it prints {self.elsewhere}")
        return tuple(found)

    def _better_explained(self) -> bool:
        """One digit says little: past a twentieth, a reading that is nearer counts."""
        if self.parsed.significant > 1 or factor(self.ratio) - 1 <= NEARLY:
            return False
        others = (self.parsed.off_by(*_ends(each)) for each in self.readings.values())
        return any(factor(each) < factor(self.ratio) for each in others)

    @property
    def right(self) -> str:
        """The number recomputed, with its unit."""
        ends = dict.fromkeys(_shown(end, self) for end in _ends(self.value))
        times = "×" if "×" in self.printed and "× 10" not in self.printed else ""
        return f"{self.label} {'–'.join(ends)}{times}".strip()


@dataclass(frozen=True)
class Size:
    """Something that is said in words or letters to be as large as ``says``.

    ``value`` is what comes out; both may be several numbers. A leading term may be off
    by a twentieth, unless the source says that the two are equal (``exactly``).
    ``readings`` are other things that the words may mean; with ``where`` the value is
    what the same source has in another place, and a difference is an inconsistency.
    """

    printed: str
    says: Recompute
    value: Recompute
    unit: str = "dimensionless"
    label: str = ""
    exactly: bool = False
    readings: Mapping[str, Recompute] = field(default_factory=lambda: NO_READINGS)
    where: str = ""

    def judge(self) -> Ruling:
        """Compare what the words come to with what is recomputed."""
        off = factor(self.ratio) - 1
        if off <= SAME:
            return Ruling.EXACT
        if off <= NEARLY and not self.exactly:
            return Ruling.WITHIN_ROUNDING
        excused = factor(self.ratio) <= EXCUSED and self.explanations()
        return Ruling.INCONSISTENT if excused else Ruling.WRONG

    @property
    def ratio(self) -> float:
        """What is said over what comes out, where that is worst."""
        return _worst_ratio(_ends(self.says), _ends(self.value))

    def explanations(self) -> tuple[str, ...]:
        """Names of the readings that lead to what is said."""
        said_so = _ends(self.says)
        found = [
            name
            for name, reading in self.readings.items()
            if factor(_worst_ratio(said_so, _ends(reading))) - 1 <= NEARLY
        ]
        return (*found, f"otherwise in {self.where}") if self.where else tuple(found)

    @property
    def right(self) -> str:
        """What comes out, beside what the words come to."""
        ours, theirs = (
            ", ".join(said(end, self.unit, 4) for end in _ends(each))
            for each in (self.value, self.says)
        )
        label = self.label or (f"{self.where}:" if self.where else "")
        return f"{label} {ours} against {theirs}".strip()


@dataclass(frozen=True)
class Statement:
    """Something that is said in words, a callable that tells whether it holds.

    ``printed`` is the statement in a few words; ``shown`` returns the numbers that
    decide it. ``limit`` says in words which number this book has put on a word such as
    "tiny"; with it the best verdict is "within rounding". ``cases`` tell whether it
    holds under another definition than the one that the source gives.
    """

    printed: str
    holds: Callable[[], bool]
    shown: Callable[[], str]
    label: str = ""
    limit: str = ""
    cases: Mapping[str, Callable[[], bool]] = field(default_factory=lambda: NO_CASES)
    ratio: float = field(default=math.nan, init=False)

    def judge(self) -> Ruling:
        """Exact where it holds, inconsistent where only by another definition."""
        if _decided(self.holds):
            return Ruling.WITHIN_ROUNDING if self.limit else Ruling.EXACT
        return Ruling.INCONSISTENT if self.explanations() else Ruling.WRONG

    def explanations(self) -> tuple[str, ...]:
        """Names of the cases in which it holds."""
        return tuple(name for name, holds in self.cases.items() if _decided(holds))

    @property
    def right(self) -> str:
        """The numbers that decide it, and the limit if one was set."""
        limit = f" (limit set here: {self.limit})" if self.limit else ""
        return f"{self.label} {spoken(self.shown)}{limit}".strip()


@dataclass(frozen=True)
class Passages:
    """Two passages that should agree, both transcribed; nothing is computed.

    ``there`` is what the other says, ``where`` where it stands. A source that says two
    things is inconsistent; one that another authority (``outside``) contradicts is
    wrong.
    """

    printed: str
    there: str
    where: str
    label: str = ""
    outside: bool = False
    ratio: float = field(default=math.nan, init=False)

    def judge(self) -> Ruling:
        """Exact if both say the same."""
        if self.printed == self.there:
            return Ruling.EXACT
        return Ruling.WRONG if self.outside else Ruling.INCONSISTENT

    def explanations(self) -> tuple[str, ...]:
        """None: two passages explain nothing."""
        return ()

    @property
    def right(self) -> str:
        """What the other passage says."""
        return f"{self.label} {self.where}: {self.there}".strip()


Part = Number | Size | Statement | Passages


def _worst_ratio(says: tuple[float, ...], value: tuple[float, ...]) -> float:
    ratios = [one / other for one, other in zip(says, value, strict=True)]
    return max(ratios, key=factor)


@cache
def spoken(words: Callable[[], str]) -> str:
    """What a callable says, asked once."""
    return words()


@cache
def _decided(holds: Callable[[], bool]) -> bool:
    return bool(holds())


@cache
def _ends(recompute: Recompute) -> tuple[float, ...]:
    """The number, or both ends of the range; a mechanism need not be run twice."""
    value = recompute()
    return tuple(map(float, value if isinstance(value, tuple) else (value,)))


def _shown(value: float, number: Number) -> str:
    """With its unit; as printed and in SI where the source prints a binary unit."""
    printed = number.parsed
    text = said(value, number.unit, max(4, printed.digits + 1))
    if printed.prefix.endswith("i"):
        text = f"{plain(value / printed.scale)} {printed.prefix}B = {text}"
    return text
