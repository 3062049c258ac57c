"""How other viewers show a stored notebook: what they keep of it, on what ground.

None of them runs a cell or has the book's style sheet and scripts. nbviewer, VS Code
and Colab take the HTML of an output as it is; GitHub takes the drawings, styles,
scripts and whatever can be pressed out of it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser
from pathlib import Path

KEPT = (
    "a b blockquote br caption code dd del details div dl dt em figcaption figure h1 "
    "h2 h3 h4 hr i img kbd li mark ol p pre s samp small span strong sub summary sup "
    "table tbody td th thead tr ul"
)
TAGS = {*KEPT.split()}
ATTRIBUTES = {"alt", "height", "href", "id", "open", "scope", "src"}
GONE = frozenset(("script", "style", "svg"))  # with all that is in them
EMPTY = frozenset(("br", "hr", "img", "input"))
SEAM = "\x00"  # where a tag was taken out
# Two words, with nothing between them but tags that do not part them to the eye.
# A name may break after an underscore (<wbr>): it is one word all the same.
GLUED = re.compile(r"[^\W_](?:</?(?:a|code|em|small|span|strong)\b[^>]*>|\x00)+\w")


class Sanitized(HTMLParser):
    """Markup as GitHub leaves it: text, tables and images."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.kept: list[str] = []
        self.depth = 0
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in GONE:
            self.depth += 1
        elif self.depth:
            return
        elif tag not in TAGS:
            self.kept.append(SEAM)
        else:
            own = ((name, value or "") for name, value in attrs if name in ATTRIBUTES)
            said = "".join(f' {name}="{escape(value)}"' for name, value in own)
            self.kept.append(f"<{tag}{said}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in GONE:
            self.depth -= 1
        elif not self.depth and tag not in EMPTY:
            self.kept.append(f"</{tag}>" if tag in TAGS else SEAM)

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.kept.append(escape(data))


def sanitized(markup: str) -> str:
    """The markup that is left."""
    return "".join(Sanitized(markup).kept).replace(SEAM, "")


def glued(markup: str) -> list[str]:
    """Words that run together once the markup between them is gone."""
    return GLUED.findall("".join(Sanitized(markup).kept))


@dataclass(frozen=True)
class Viewer:
    """One of them: its ground and ink, and whether it sanitizes what it shows."""

    ground: str
    ink: str
    sanitizes: bool = False

    def page(self, outputs: list[str]) -> str:
        """A page with these outputs below each other."""
        shown = [sanitized(o) if self.sanitizes else o for o in outputs]
        cells = "".join(f'<div class="cell">{each}</div>' for each in shown)
        look = f"background: {self.ground}; color: {self.ink}; font-family: sans-serif"
        return f'<!doctype html><meta charset="utf-8"><body style="{look}">{cells}'


VIEWERS = {
    "nbviewer": Viewer("#ffffff", "#000000"),
    "VS Code, dark": Viewer("#1e1e1e", "#cccccc"),
    "Colab, dark": Viewer("#383838", "#d5d5d5"),
    "GitHub": Viewer("#ffffff", "#1f2328", sanitizes=True),
    "GitHub, dark": Viewer("#0d1117", "#f0f6fc", sanitizes=True),
}


def stored(path: Path, within: str) -> list[str]:
    """The HTML outputs of a notebook that hold ``within``, such as a figure."""
    cells = json.loads(path.read_text("utf8"))["cells"]
    found = [o.get("data", {}) for cell in cells for o in cell.get("outputs", [])]
    texts = ("".join(data.get("text/html", "")) for data in found)
    return [text for text in texts if within in text]
