"""A claim is what a source prints, and a callable that computes it again.

Nothing here holds a right answer: it comes out of the book's formulas and catalog when
the record is judged. What is typed is the printed number, the verdict, and the reason;
a test derives the verdict and compares. Where two passages are compared and nothing is
computed, and where a definition leaves nothing to disagree, the record says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import fill

from llmserve_lab.claims.parts import Number, Part, Passages, Size, spoken
from llmserve_lab.claims.printed import factor
from llmserve_lab.claims.sources import SourceText, source_of
from llmserve_lab.claims.verdict import FALSE, OFF, Ruling, worst

COMPUTED, QUOTED, DEFINED, NONE = (
    "recomputed",
    "two passages compared",
    "true by definition",
    "nothing to compute",
)
WIDE, INDENT = 76, " " * len("recomputed: ")  # of a claim in a terminal


@dataclass(frozen=True)
class Claim:
    """One checkable statement of a source, in our words, with the verdict on it.

    ``parts`` are what can be computed, none if nothing can. ``why`` is one sentence, or
    a callable that returns it where it contains numbers. ``by_definition`` marks what
    nothing could contradict.

    Raises:
        ValueError: the id belongs to no source, a text is empty, a verdict other than
            "exact" has no reason, or parts and verdict do not go together.
    """

    id: str
    section: str
    says: str
    parts: tuple[Part, ...]
    verdict: Ruling
    why: str | Callable[[], str] = ""
    by_definition: bool = False

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
    def counted(self) -> bool:
        """Whether it is one of the sources' list, not a sentence beside one of it."""
        return self.id[-1].isdigit()

    @property
    def printed(self) -> str:
        """What the source prints, part by part."""
        return "; ".join(map(_printed, self.parts))

    @property
    def right(self) -> str:
        """What comes out when it is recomputed, part by part."""
        return "; ".join(part.right for part in self.parts)

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, its numbers filled in."""
        return self.why if isinstance(self.why, str) else spoken(self.why)

    @property
    def basis(self) -> str:
        """What the verdict rests on."""
        if not self.parts:
            return NONE
        if all(isinstance(part, Passages) for part in self.parts):
            return QUOTED
        return DEFINED if self.by_definition else COMPUTED

    @property
    def word(self) -> str:
        """The verdict in words, in which a wrong number is not a false statement."""
        if self.verdict is not Ruling.WRONG:
            return str(self.verdict.value)
        bad = [part for part in self.parts if part.judge() is Ruling.WRONG]
        return OFF if all(isinstance(part, Number) for part in bad) else FALSE

    @property
    def ratio(self) -> float:
        """Printed over recomputed in the part that is furthest off; NaN for words."""
        found = [part.ratio for part in self.parts if not math.isnan(part.ratio)]
        return max(found, key=factor, default=math.nan)

    def __str__(self) -> str:
        lines = (
            f"{self.id} ({self.source.name}, {self.section}): {self.says}",
            f"printed:    {self.printed or '–'}",
            f"recomputed: {self.right or '–'}",
            f"verdict:    {self.verdict.symbol} {self.word}",
            f"why:        {self.reason or '–'}",
        )
        return "\n".join(fill(line, WIDE, subsequent_indent=INDENT) for line in lines)


def _printed(part: Part) -> str:
    """As it is printed; a label that belongs to what we compute is left out."""
    if isinstance(part, Size | Passages):
        return part.printed
    return f"{part.label} {part.printed}".strip()


def judge(claim: Claim) -> Ruling:
    """Derive the verdict from what is printed and what is computed."""
    return worst(tuple(part.judge() for part in claim.parts))
