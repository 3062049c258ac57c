"""Numbers of equations and figures: given when the book is built, in reading order.

A cell stores the name of what it shows. The place of a page in ``_toc.yml`` and the
place of the display on that page make the number, so that a chapter or an equation can
be inserted or moved without a change anywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

KINDS = ("eq", "fig")
DISPLAYED = re.compile(r'\bid="((?:eq|fig)-[\w.-]+)"')
CHAPTER, EQUATION, FIGURE, EXERCISE = "chapter {}", "({})", "figure {}", "exercise {}"


@dataclass(frozen=True)
class Place:
    """Where something named is shown first: its page, and its number if it has one."""

    page: str
    number: str = ""

    def text(self, target: str) -> str:
        """How it is printed: an equation's in brackets, a figure's after the word."""
        form = EQUATION if target.startswith("eq-") else FIGURE
        return form.format(self.number) if self.number else ""


def displayed(html: str) -> list[str]:
    """Targets (``eq-intensity``) that a piece of stored HTML shows, in its order."""
    return DISPLAYED.findall(html)


def places(
    pages: Iterable[str],
    shown: Mapping[str, Iterable[str]],
    chapters: Mapping[str, int],
) -> dict[str, Place]:
    """The place of each target: the first page that shows it, chapters before others.

    ``pages`` is the reading order, ``shown`` the targets that each page displays, in
    the order of the page, ``chapters`` the number of each page that has one. What is
    shown a second time keeps the number that it has.
    """
    order = sorted(pages, key=lambda page: page not in chapters)
    found: dict[str, Place] = {}
    for page in order:
        counts = dict.fromkeys(KINDS, 0)
        for target in shown.get(page, ()):
            if target in found:
                continue
            kind = target.partition("-")[0]
            counts[kind] += 1
            number = f"{chapters[page]}.{counts[kind]}" if page in chapters else ""
            found[target] = Place(page, number)
    return found
