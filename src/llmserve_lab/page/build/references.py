"""References by name, resolved when the book is built, in prose and in stored HTML.

A link to ``#eq-intensity`` may stand on any page and lead to any page. Where its text
is the name, the number takes the name's place. Any other text keeps its
words, and the number follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from llmserve_lab.page.build.numbers import Place

TARGET = re.compile(r"#((?:eq|fig)-[\w.-]+)")
NUMBER = re.compile(r"#num-(\w+)")
REST = r'((?: [\w-]+="[^"<>]*")*)'  # attributes as page.html writes them
LINK = re.compile(
    rf'<a((?: (?!href)[\w-]+="[^"<>]*")*) href="#((?:eq|fig)-[\w.-]+)"{REST}>'
    r"([^<]*)</a>"
)
# A formula's label in a docstring that a page shows.
CODE = re.compile(r"``([a-z]\w*(?:-\w+)?)``")
# The legend under an equation, which leads on to the list of letters and formulas.
LEGEND = re.compile(
    r'(<div class="formula" id="eq-([\w.-]+)">.*?<p class="legend">.*?)</p>', re.DOTALL
)
ANCHOR = re.compile(r' id="((?:eq|fig)-[\w.-]+)"')


@dataclass
class Page:
    """One page while its references are written: what it has shown, what is missing.

    ``index`` is the address of the list of letters and formulas, if the book has one.
    """

    name: str
    known: Mapping[str, Place]
    address: Callable[[str], str]
    index: str = ""
    missing: list[str] = field(default_factory=list)
    shown: set[str] = field(default_factory=set)

    def link(self, target: str, text: str) -> tuple[str, str]:
        """Address and text of a reference; what leads nowhere is noted as missing."""
        place = self.known.get(target)
        if place is None:
            self.missing.append(target)
            return f"#{target}", text
        page = "" if place.page == self.name else self.address(place.page)
        return f"{page}#{target}", worded(target, text, place)

    def html(self, text: str) -> str:
        """Stored HTML with its references resolved, and each anchor there only once."""

        def link(match: re.Match[str]) -> str:
            address, words = self.link(match[2], match[4])
            if "fig-number" in match[1]:  # the title of the figure itself
                if words == match[4]:  # on a page without a number
                    return ""
                words = words.capitalize()
            return f'<a{match[1]} href="{address}"{match[3]}>{words}</a>'

        listed = LEGEND.sub(self._listed, text) if self.index else text
        return CODE.sub(self._code, LINK.sub(link, ANCHOR.sub(self._anchor, listed)))

    def _listed(self, match: re.Match[str]) -> str:
        """A legend with a link to the formula's entry in the list."""
        place = f"{self.index}#formula-{match[2]}"
        words = "in the list of formulas"
        return f'{match[1]} <a class="in-index" href="{place}">{words}</a></p>'

    def _code(self, match: re.Match[str]) -> str:
        target = f"eq-{match[1]}"
        if target not in self.known:
            return match[0]
        address, number = self.link(target, "")
        return f'<a class="named" href="{address}" title="{number}">{match[0]}</a>'

    def _anchor(self, match: re.Match[str]) -> str:
        place = self.known.get(match[1])
        home = place is None or place.page == self.name
        first = home and match[1] not in self.shown
        self.shown.add(match[1])
        return match[0] if first else ""


def worded(target: str, text: str, place: Place) -> str:
    """The words of a reference: its number for its name, or after other words."""
    name, number = target.partition("-")[2], place.text(target)
    if not number:
        return text or name
    if text in ("", name):
        return number
    return f"{text} {number}" if number.startswith("(") else f"{text} ({number})"
