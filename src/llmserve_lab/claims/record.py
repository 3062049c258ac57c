"""A claim is what a source prints, and a callable that computes it again.

Nothing here holds a right answer: it comes out of the book's formulas and catalog when
the record is judged. What is typed is the printed number, the verdict, and the reason;
a test derives the verdict and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from llmserve_lab.claims.printed import Printed, parse
from llmserve_lab.claims.sources import SourceText, source_of
from llmserve_lab.claims.verdict import Ruling, worst
from llmserve_lab.formula.text import plain, said

Value = float | tuple[float, float]  # a number, or the ends of a range
Recompute = Callable[[], Value]
NO_READINGS: Mapping[str, Recompute] = MappingProxyType({})


@dataclass(frozen=True)
class Number:
    """A printed number and the callable that returns it in ``unit`` (SI base form).

    ``readings`` are other ways to arrive at a number, each named for what it takes the
    source to mean ("GiB printed as GB"); one that reaches the printed digits explains
    them. ``label`` tells several numbers of one claim apart.

    Raises:
        ValueError: ``printed`` is not a number, or is printed in another unit.
    """

    printed: str
    unit: str
    value: Recompute
    label: str = ""
    readings: Mapping[str, Recompute] = field(default_factory=lambda: NO_READINGS)

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
        if all(map(printed.states, ends)):
            return Ruling.EXACT
        if all(map(printed.admits, ends)):
            return Ruling.WITHIN_ROUNDING
        return Ruling.INCONSISTENT if self.explanations() else Ruling.WRONG

    def explanations(self) -> tuple[str, ...]:
        """Names of the readings that lead to the printed digits."""
        admits = self.parsed.admits
        return tuple(
            name
            for name, reading in self.readings.items()
            if all(map(admits, _ends(reading)))
        )

    @property
    def right(self) -> str:
        """The number recomputed, with its unit."""
        ends = dict.fromkeys(_shown(end, self) for end in _ends(self.value))
        times = "×" if "×" in self.printed else ""
        return f"{self.label} {'–'.join(ends)}{times}".strip()


@dataclass(frozen=True)
class Statement:
    """Something that is said in words, a callable that tells whether it holds.

    ``printed`` is the statement in a few words; ``shown`` returns the numbers that
    decide it. ``elsewhere`` tells whether it holds under another definition than the
    one that the source gives.
    """

    printed: str
    holds: Callable[[], bool]
    shown: Callable[[], str]
    label: str = ""
    elsewhere: Callable[[], bool] | None = None

    def judge(self) -> Ruling:
        """Exact where it holds, inconsistent where only by another definition."""
        if _decided(self.holds):
            return Ruling.EXACT
        other = self.elsewhere is not None and _decided(self.elsewhere)
        return Ruling.INCONSISTENT if other else Ruling.WRONG

    @property
    def right(self) -> str:
        """The numbers that decide it."""
        return f"{self.label} {_said(self.shown)}".strip()


@dataclass(frozen=True)
class Claim:
    """One checkable statement of a source, in our words, with the verdict on it.

    ``parts`` are what can be computed, none if nothing can. ``why`` is one sentence, or
    a callable that returns it where it contains numbers.

    Raises:
        ValueError: the id belongs to no source, a text is empty, a verdict other than
            "exact" has no reason, or parts and verdict do not go together.
    """

    id: str
    section: str
    says: str
    parts: tuple[Number | Statement, ...]
    verdict: Ruling
    why: str | Callable[[], str] = ""

    def __post_init__(self) -> None:
        source_of(self.id)
        if not (self.section.strip() and self.says.strip()):
            raise ValueError(f"section and says of {self.id} must not be empty")
        if self.verdict is not Ruling.EXACT and not self.why:
            raise ValueError(
                f"why of {self.id} must give a reason for {self.verdict.value}"
            )
        if bool(self.parts) is (self.verdict is Ruling.CANNOT_BE_CHECKED):
            raise ValueError(
                f"{self.id} must have parts to recompute, or the verdict "
                f"'cannot be checked', got {len(self.parts)} and {self.verdict.value!r}"
            )

    @property
    def source(self) -> SourceText:
        """Where it is said."""
        return source_of(self.id)

    @property
    def printed(self) -> str:
        """What the source prints, part by part."""
        return "; ".join(f"{part.label} {part.printed}".strip() for part in self.parts)

    @property
    def right(self) -> str:
        """What comes out when it is recomputed, part by part."""
        return "; ".join(part.right for part in self.parts)

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, its numbers filled in."""
        return self.why if isinstance(self.why, str) else _said(self.why)

    def __str__(self) -> str:
        lines = (
            f"{self.id} ({self.source.name}, {self.section}): {self.says}",
            f"printed:    {self.printed or '–'}",
            f"recomputed: {self.right or '–'}",
            f"verdict:    {self.verdict}",
            f"why:        {self.reason or '–'}",
        )
        return "\n".join(lines)


def judge(claim: Claim) -> Ruling:
    """Derive the verdict from what is printed and what is computed."""
    return worst(tuple(part.judge() for part in claim.parts))


@cache
def _said(words: Callable[[], str]) -> str:
    return words()


@cache
def _decided(holds: Callable[[], bool]) -> bool:
    return holds()


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
