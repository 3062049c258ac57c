"""Index of letters and formulas, chapter by chapter, printed from what computes.

Each entry leads to its place in a chapter, and is found by the synonyms of its words.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

from llmserve_lab.checks import key_of
from llmserve_lab.formula.breaking import broken
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.html import display, inline
from llmserve_lab.formula.quantity import Coefficient, Quantity
from llmserve_lab.formula.registry import formulas, modules
from llmserve_lab.formula.text import unit_text
from llmserve_lab.glossary import Term, terms
from llmserve_lab.notation import table as notation
from llmserve_lab.page.html import escape, linked, tag
from llmserve_lab.page.table import Table

# The packages whose formulas a chapter shows, in the order of the book.
CHAPTERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "end_to_end": ("end_to_end",),
        "roofline": ("roofline",),
        "flash_attention": ("flash_attention",),
        "varlen_batching": ("varlen",),
        "continuous_batching": ("continuous_batching",),
        "kv_memory": ("kv_memory",),
        "speculative_decoding": ("speculative",),
        "quantization": ("quantization",),
        "tensor_parallel": ("collectives", "tensor_parallel"),
        "parallelism": ("parallelism",),
        "mixture_of_experts": ("moe",),
        "disaggregation": ("disaggregation",),
        "deepseek_twin": ("deepseek",),
        "attention_ffn": ("afd",),
        "capacity": ("capacity",),
        "symptoms": ("symptoms",),
        "how_wrong": ("how_wrong",),
    }
)
MOST_PLACES = 4  # of a letter: its own formula, and where it stands first


def formulas_of(chapter: str) -> tuple[Formula, ...]:
    """The formulas of a chapter, by the name of its page, as they are defined.

    Raises:
        ValueError: the book has no such chapter.
    """
    key_of("chapter", chapter, CHAPTERS)
    own = {
        item.label
        for module in modules("formulas", *CHAPTERS[chapter])
        for item in vars(module).values()
        if isinstance(item, Formula)
    }
    return tuple(f for f in formulas() if f.label in own and _home(f) == chapter)


@cache
def _homes() -> dict[str, str]:
    """The chapter of each formula: the first whose packages define or show it."""
    found: dict[str, str] = {}
    for chapter, packages in CHAPTERS.items():
        for module in modules("formulas", *packages):
            for item in vars(module).values():
                if isinstance(item, Formula):
                    found.setdefault(item.label, chapter)
    return found


def _home(formula: Formula) -> str:
    return _homes()[formula.label]


@cache
def _letters() -> dict[str, list[Quantity]]:
    """The letters of each chapter: those that no chapter before it uses."""
    found: dict[str, list[Quantity]] = {}
    seen: set[str] = set()
    of_none = set(notation()) - set(_places())
    for chapter in CHAPTERS:
        own = formulas_of(chapter)
        used = {name for f in own for name in (f.result.name, *f.terms)}
        used |= {name for name in of_none if _defines(chapter, name)}
        found[chapter] = [
            q
            for q in notation().values()
            if q.name in used - seen and not isinstance(q, Coefficient)
        ]
        seen |= used
    return found


def _defines(chapter: str, name: str) -> bool:
    """Whether the notation's file of a chapter defines a letter that no formula has."""
    files = (f"llmserve_lab.notation.{package}" for package in CHAPTERS[chapter])
    return any(hasattr(sys.modules.get(file), name) for file in files)


def letters_of(chapter: str) -> tuple[Quantity, ...]:
    """The letters that a chapter brings into the book.

    Raises:
        ValueError: the book has no such chapter.
    """
    formulas_of(chapter)
    return tuple(_letters()[chapter])


def _is_not_of(name: str, formula: Formula) -> bool:
    return formula.result.name != name


@cache
def _places() -> dict[str, list[Formula]]:
    """Where each letter stands: its own formula first, then in the book's order."""
    order, found = list(CHAPTERS), dict[str, list[Formula]]()
    for formula in sorted(formulas(), key=lambda f: order.index(_home(f))):
        for name in {formula.result.name, *formula.terms}:
            found.setdefault(name, []).append(formula)
    for name, places in found.items():
        places.sort(key=partial(_is_not_of, name))
    return found


@cache
def _synonyms() -> tuple[tuple[re.Pattern[str], str], ...]:
    """For each term of the glossary a pattern of its words, and what it is called."""
    known = {term.name: term for term in terms()}

    def near(term: Term) -> list[Term]:
        return [known[name] for name in term.near]

    return tuple(
        (
            re.compile(rf"\b(?:{'|'.join(map(re.escape, t.words))})s?\b", re.I),
            " ".join(name for each in (t, *near(t)) for name in each.names),
        )
        for t in known.values()
    )


def also(text: str) -> str:
    """What the words of a text are called elsewhere: a gap is found as TPOT, too."""
    found = (names for pattern, names in _synonyms() if pattern.search(text))
    return " ".join(dict.fromkeys(" ".join(found).split()))


@dataclass(frozen=True, repr=False)
class ChapterIndex:
    """Letters and formulas of one chapter, folded; each entry can be filtered.

    Raises:
        ValueError: the book has no such chapter.
    """

    chapter: str

    def __post_init__(self) -> None:
        formulas_of(self.chapter)

    def __repr__(self) -> str:
        """How many there are, and their names in code."""
        letters, own = letters_of(self.chapter), formulas_of(self.chapter)
        names = ", ".join([*(q.name for q in letters), *(f.label for f in own)])
        return f"{self._counts()}: {names}"

    def _counts(self) -> str:
        letters, own = len(letters_of(self.chapter)), len(formulas_of(self.chapter))
        first = f"{letters} letter{'s' * (letters != 1)}"
        return f"{first} and {own} formula{'s' * (own != 1)}"

    def _repr_html_(self) -> str:
        parts = [tag("summary", escape(self._counts()))]
        if letters := letters_of(self.chapter):
            rows = "\n".join(map(_letter, letters))
            parts.append(tag("ul", rows, class_="letters-list"))
        rows = "\n".join(map(_formula, formulas_of(self.chapter)))
        parts.append(tag("ul", rows, class_="formulas-list"))
        mark = "index-part tex2jax_process mathjax_process"
        return tag("details", "\n".join(parts), class_=mark)


def _letter(q: Quantity) -> str:
    """One letter: symbol, meaning and unit, range, name in code, where it stands."""
    unit = unit_text(q.unit)
    shown = tag("small", f" ({escape(unit)})") if unit else ""
    places = _places().get(q.name, [])
    parts = [
        inline(q.symbol),
        tag("span", escape(q.meaning) + shown),
        tag("code", escape(q.name)),
        tag("span", _links(places[:MOST_PLACES])),
    ]
    found = also(q.meaning) or None
    return tag("li", " ".join(parts), data_also=found, id=f"letter-{q.name}")


def _links(places: Iterable[Formula]) -> str:
    """Links to equations, which the built page prints as their numbers."""
    return " ".join(tag("a", f.label, href=f"#eq-{f.label}") for f in places)


def _formula(f: Formula) -> str:
    """One formula: number and title, equation, when it holds, its source."""
    made = "derived by SymPy" if f.derived else ""
    small = [
        f"Holds for: {linked(escape(f.holds))}" if f.holds else "",
        linked(escape(f.source)),
        made,
    ]
    head = [
        tag("a", f.label, href=f"#eq-{f.label}"),
        tag("b", escape(f.title)),
        tag("code", escape(f.label)),
    ]
    inside = [
        tag("p", " ".join(head)),
        display(broken(f.latex)),
        tag("p", " · ".join(filter(None, small))),
    ]
    words = f"{f.title} {f.result.meaning}"
    found = also(words) or None
    return tag("li", "\n".join(inside), data_also=found, id=f"formula-{f.label}")


@dataclass(frozen=True, repr=False)
class FilterBox:
    """A box for searching what is listed below it; nothing where no script runs.

    ``by`` are marks of the entries (``data-verdict``) among which one may be chosen.
    """

    name: str
    what: str
    by: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"A box that filters the {self.what} below."

    def _repr_html_(self) -> str:
        data = {"data_filter": self.name, "data_what": self.what}
        if self.by:
            data["data_by"] = " ".join(self.by)
        return tag("div", "", class_="filter", hidden=True, **data)


def coefficient_table() -> Table:
    """The plain numbers in the formulas, each with the unit that it carries."""
    rows = [
        (q.name, rf"\({q.symbol}\)", q.meaning, unit_text(q.unit))
        for q in notation().values()
        if isinstance(q, Coefficient)
    ]
    return Table("Numbers with a unit", ("in code", "number", "meaning", "unit"), rows)
