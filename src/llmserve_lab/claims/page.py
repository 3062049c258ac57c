"""The page "What the sources say": tables made from the records, nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from llmserve_lab.checks import key_of
from llmserve_lab.claims.all_claims import CLAIMS
from llmserve_lab.claims.claim import COMPUTED, Claim
from llmserve_lab.claims.coverage import recorded
from llmserve_lab.claims.parts import EXCUSED, NEARLY, Part
from llmserve_lab.claims.printed import MOST_OF_ONE_DIGIT, factor
from llmserve_lab.claims.sources import ALL, CLAIM_COUNTS
from llmserve_lab.claims.verdict import FALSE, OFF, Ruling
from llmserve_lab.formula.text import plain
from llmserve_lab.page.html import escape, linked, tag
from llmserve_lab.page.table import Cell, Table

COLUMNS = ("source", "claim", "ours", "off by", "verdict")
SORTED_BY = ("id", "", "", "off", "")
EMPTY = "–"
SAME = 1e-9
WORDS = (
    OFF,
    FALSE,
    Ruling.INCONSISTENT.value,
    Ruling.WITHIN_ROUNDING.value,
    Ruling.EXACT.value,
    Ruling.CANNOT_BE_CHECKED.value,
)  # the worst first
BEST_FIRST = (*WORDS[-2::-1], WORDS[-1])
SYMBOLS = {verdict.value: verdict.symbol for verdict in Ruling}
SYMBOLS |= dict.fromkeys((OFF, FALSE), Ruling.WRONG.symbol)
# About the text itself: its plan, its references, its own tables. Nobody serves a model
# differently for these.
ABOUT_TEXT = frozenset({"00-01", "00-02", "00-03", "003-22", "03-15", "04-18", "07-33"})
SHORT = SYMBOLS | {OFF: "✗ off", FALSE: "✗ false"}  # headings of narrow columns
MEANINGS = {
    OFF: "a number of the source is not what comes out, and no reading gives it",
    FALSE: "what the source says in words or letters does not hold",
    Ruling.INCONSISTENT.value: "it would be right under another reading of a unit or a "
    "definition, or the source says two different things; by a factor of "
    f"{EXCUSED:g} at most",
    Ruling.WITHIN_ROUNDING.value: "it rounds to the digits printed, or is a leading "
    f"term that is right to {100 * NEARLY:g} %, or holds with a limit that we set",
    Ruling.EXACT.value: "the number recomputed is the number printed, or the statement "
    "holds as it stands",
    Ruling.CANNOT_BE_CHECKED.value: "there is nothing to compute",
}


def shown_as(word: str) -> str:
    """A verdict as the page writes it: a symbol, and the word."""
    return f"{SYMBOLS[word]} {word}"


def verdict_summary() -> Table:
    """Table of sources by verdict: how many claims there are, and how they fare."""
    columns = ("source", "claims", *(SHORT[word] for word in BEST_FIRST))
    counts = {name: _counted(name) for name in recorded()}
    counts["all"] = tuple(map(sum, zip(*counts.values(), strict=True)))
    rows: list[tuple[Cell, ...]] = [(name, *row) for name, row in counts.items()]
    return Table("Verdicts by source", columns, rows)


def _counted(source: str) -> tuple[int, ...]:
    own = [c for c in CLAIMS.values() if c.source.name == source and c.counted]
    return len(own), *(sum(c.word == word for c in own) for word in BEST_FIRST)


def verdict_legend() -> Table:
    """Table of what each verdict means."""
    rows = [(shown_as(word), MEANINGS[word]) for word in BEST_FIRST]
    return Table("What a verdict means", ("verdict", "when"), rows)


def source_legend() -> Table:
    """Table of the sources: the prefix of their claims, title, number of claims."""
    columns = ("prefix", "source", "title", "claims")
    rows = [
        (f"{each.prefix}-", each.name, each.title, CLAIM_COUNTS[each.name])
        for each in ALL
    ]
    return Table("The sources, and how their claims are named", columns, rows)


def rules() -> Table:
    """Table of the rules that a verdict follows, with the limits that are chosen."""
    rows = [
        ("a printed number", "everything that rounds to it; half a unit rounds up"),
        (
            "one digit alone",
            f"at most {100 * MOST_OF_ONE_DIGIT:g} % to either side, half a unit of a "
            f"4; beyond {100 * NEARLY:g} % a reading that comes nearer is believed",
        ),
        ("“about”", "two digits count; zeros at the end of a whole number do not"),
        ("a range", "both ends must be right; one number may lie anywhere in it"),
        ("a bound", "is kept, or it is not"),
        ("words and leading terms", f"right to {100 * NEARLY:g} %"),
        ("“equal”, “the same”", "to the last digit that a computer adds"),
        ("a reading", f"excuses a factor of {EXCUSED:g} at most"),
        ("a word such as “tiny”", "the limit that we set is printed in the row"),
    ]
    return Table("How it is compared", ("what is printed", "what is admitted"), rows)


def off_by(ratio: float) -> str:
    """Printed over recomputed as a reader says it: a share, or a factor."""
    if math.isnan(ratio):
        return EMPTY
    if factor(ratio) - 1 <= SAME:
        return "0"
    if factor(ratio) >= 2:
        way = "large" if ratio > 1 else "small"
        return f"{plain(factor(ratio))} × too {way}"
    sign = "+" if ratio > 1 else "−"
    return f"{sign}{plain(100 * abs(ratio - 1), 2)} %"


def worst_first(claims: Iterable[Claim]) -> list[Claim]:
    """Largest deviation first; words, which have none, after the numbers."""
    return sorted(claims, key=_badness)


def _badness(claim: Claim) -> tuple[float, str]:
    off = claim.ratio
    return (0.0 if math.isnan(off) else -factor(off)), claim.id


def claims_table(source: str, *, section: str | None = None) -> Table:
    """Table of every claim of a source, or of one of its sections, for a chapter.

    Raises:
        ValueError: the source, or the section, has no claim.
    """
    own = [each for each in CLAIMS.values() if each.source.name == source]
    found = [each for each in own if section in (None, each.section)]
    if not own:
        raise ValueError(
            f"source must be one of {', '.join(CLAIM_COUNTS)}, got {source!r}"
        )
    if not found:
        known = ", ".join(dict.fromkeys(each.section for each in own))
        raise ValueError(f"section must be one of {known}, got {section!r}")
    where = source if section is None else f"{source}, {section}"
    columns = ("claim", "what it says", "printed → recomputed", "verdict")
    return Table(f"Claims of {where}, recomputed", columns, list(map(_cells, found)))


def _cells(claim: Claim) -> tuple[str, ...]:
    """Four cells: a narrow page shows them without scrolling sideways."""
    verdict = f"{shown_as(claim.word)}. {claim.reason}".rstrip(". ") + "."
    return claim.id, f"{claim.section}: {claim.says}", beside(claim), verdict


def beside(claim: Claim) -> str:
    """What is printed → what comes out, part by part."""
    return "; ".join(map(_beside, claim.parts)) or EMPTY


def _beside(part: Part) -> str:
    right = part.right.removeprefix(part.label).strip()
    return f"{part.label} {part.printed} → {right}".strip()


@dataclass(frozen=True, repr=False)
class ClaimsOf:
    """All claims with one verdict, folded, the furthest off first; one row each.

    What a text says of itself is left to :class:`ClaimsAboutText`.

    Raises:
        ValueError: ``word`` is no verdict of the page.
    """

    word: str
    open: bool = False

    def __post_init__(self) -> None:
        key_of("word", self.word, WORDS)

    @property
    def claims(self) -> list[Claim]:
        """The claims, sorted."""
        own = (each for each in CLAIMS.values() if each.id not in ABOUT_TEXT)
        return worst_first(each for each in own if each.word == self.word)

    def __repr__(self) -> str:
        """How many there are, and their ids."""
        return f"{self._count()}: {', '.join(each.id for each in self.claims)}"

    def _count(self) -> str:
        return _count(shown_as(self.word), self.claims)

    def _repr_html_(self) -> str:
        return _fold(self._count(), self.claims, is_open=self.open)


class ClaimsAboutText:
    """Claims on which nothing that is served depends, whatever their verdict."""

    @property
    def claims(self) -> list[Claim]:
        """The claims, sorted."""
        return worst_first(CLAIMS[name] for name in ABOUT_TEXT)

    def __repr__(self) -> str:
        """How many there are, and their ids."""
        return f"{self._count()}: {', '.join(each.id for each in self.claims)}"

    def _count(self) -> str:
        return _count("what a text says of itself", self.claims)

    def _repr_html_(self) -> str:
        return _fold(self._count(), self.claims)


def _count(what: str, claims: list[Claim]) -> str:
    count = sum(claim.counted for claim in claims)
    others = len(claims) - count
    more = f" and {others} sentence beside one" if others else ""
    return f"{what}: {count} claim{'s' * (count != 1)}{more}"


def _fold(title: str, claims: list[Claim], *, is_open: bool = False) -> str:
    """A table of claims, behind a summary that says how many there are."""
    pairs = zip(COLUMNS, SORTED_BY, strict=True)
    head = "".join(
        tag(
            "th",
            escape(name),
            scope="col",
            data_sort=key or None,
            aria_sort="descending" if key == "off" else None,
        )
        for name, key in pairs
    )
    body = "\n".join(map(_row, claims))
    table = (
        f'<table class="claims"><caption>{escape(title)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    )
    mark = "index-part tex2jax_process mathjax_process"
    summary = tag("summary", escape(title))
    return tag("details", f"{summary}\n{table}", class_=mark, open=is_open)


def _row(claim: Claim) -> str:
    """One claim: where it is said, what, what comes out, how far off, the verdict."""
    name = f"claim-{claim.id}"
    where = f"{claim.source.name}, {claim.section}"
    said = claim.printed and tag("q", escape(claim.printed), class_="claim-printed")
    cells = [
        tag("a", claim.id, href=f"#{name}") + " " + tag("small", escape(where)),
        f"{tag('span', escape(claim.says))} {said}".rstrip(),
        escape(claim.right or EMPTY),
        escape(off_by(claim.ratio)),
        tag("strong", escape(shown_as(claim.word))) + _because(claim),
    ]
    columns = zip(cells[1:], COLUMNS[1:], strict=True)
    inside = tag("th", cells[0], scope="row") + "".join(
        tag("td", cell, data_label=column) for cell, column in columns
    )
    off = "0" if math.isnan(claim.ratio) else f"{factor(claim.ratio):.6g}"
    return tag(
        "tr",
        inside,
        id=name,
        class_="filtered",
        data_source=claim.source.name,
        data_verdict=claim.word,
        data_id=claim.id,
        data_off=off,
    )


def _because(claim: Claim) -> str:
    reason = tag("span", linked(escape(claim.reason))) if claim.reason else ""
    basis = "" if claim.basis == COMPUTED else tag("small", escape(f"({claim.basis})"))
    return "".join(f" {part}" for part in (reason, basis) if part)
