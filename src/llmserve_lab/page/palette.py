"""Every figure of the book is drawn with the same few inks, by day and by night.

The hues follow Okabe and Ito's colour-blind-safe set, darkened for a white page and
lightened for a dark one until each has a contrast of at least 4.5 to 1. A figure names
an ink as a CSS variable, so the page's theme decides which of the two the reader sees,
and nothing has to be drawn again when the theme changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

NARROW = 400  # CSS pixels: a chart on a phone; expressions may ask `width < 400`
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


@dataclass(frozen=True)
class Ink:
    """A colour, ``light`` for paper and ``dark`` for a dark page, and its dash.

    An area that is not ``solid`` is pale or hatched: letters on it are dark.
    """

    name: str
    light: str
    dark: str
    dash: tuple[int, ...] = ()
    solid: bool = True

    @property
    def css(self) -> str:
        """The colour as the page resolves it; with no style sheet it is ``light``."""
        return f"var(--fig-{self.name}, {self.light})"


INK = Ink("ink", "#1d2329", "#e6e9ed")
GREY = Ink("grey", "#5c6670", "#a9b4bf")
GRID = Ink("grid", "#dfe3e8", "#333c48", solid=False)
BLUE = Ink("blue", "#0067a5", "#5fb4ec")
VERMILLION = Ink("vermillion", "#b84a00", "#ff9a5a", (7, 3))
GREEN = Ink("green", "#00785a", "#3ecb9c", (2, 2))
PURPLE = Ink("purple", "#9c3f77", "#e79cc8", (8, 3, 2, 3))
GOLD = Ink("gold", "#846000", "#eec14a", (4, 2, 1, 2))

SERIES = (BLUE, VERMILLION, GREEN, PURPLE, GOLD)

# Six requests, told apart by lightness as well as by hue: to a reader with a colour
# vision deficiency many hues look alike. Each cell bears its letter, too.
REQUESTS = (
    Ink("a", "#4048e8", "#8f8afc"),
    Ink("b", "#6b3d00", "#f5a623"),
    Ink("c", "#0b4a4f", "#4fe3c1"),
    Ink("d", "#99107c", "#e36cbf"),
    Ink("e", "#757000", "#dde79a"),
    Ink("f", "#5a1a9a", "#dccaf8"),
)
INKS = (INK, GREY, GRID, *SERIES, *REQUESTS)

PAGE_CSS = "var(--book-page, #fff)"  # what lies behind every figure
HATCH = "url(#fig-idle)"  # a pattern; each figure brings it under an id of its own


class Hatching(Ink):
    """The ink of what is idle: grey strokes, which no colour stands for."""

    @property
    def css(self) -> str:
        """The pattern that the figure brings along."""
        return HATCH


IDLE = Hatching("idle", GREY.light, GREY.dark, solid=False)

# One colour, one meaning, in the whole book. A chart that shows none of these things
# may use the first five as series.
MEANINGS = {
    "weights": BLUE,
    "cache": GREEN,
    "new": VERMILLION,
    "compute": GOLD,
    "communication": PURPLE,
    "idle": IDLE,
    **{ink.name.upper(): ink for ink in REQUESTS},
    "empty": GRID,
    "other": GREY,
}


def series(*names: str) -> dict[str, Ink]:
    """An ink for each of a few things that have no colour of their own, in order."""
    return dict(zip(names, SERIES, strict=False))


def variables(*, dark: bool) -> str:
    """The inks as CSS declarations, as the book's style sheet holds them."""
    return " ".join(f"--fig-{i.name}: {i.dark if dark else i.light};" for i in INKS)


def themed(svg: str) -> str:
    """Replace the light colours of a drawing by the variables that the page sets."""
    known = {ink.light: ink.css for ink in INKS}
    pattern = re.compile("|".join(known) + "(?![0-9a-f])")
    return pattern.sub(lambda match: known[match.group()], svg)


def on_paper(svg: str) -> str:
    """Replace the variables by their light colours, for a picture outside the book."""
    return re.sub(r"var\(--fig-\w+, (#[0-9a-f]{6})\)", r"\1", svg)


def decades(low: int, high: int) -> list[float]:
    """The powers of ten from 10^low to 10^high: ``values`` of a logarithmic axis.

    Vega would draw a grid line at every minor tick otherwise.
    """
    return [10.0**power for power in range(low, high + 1)]


def vega_config() -> dict[str, Any]:
    """The configuration that every Vega-Lite chart of the book shares."""
    quiet = {"labelColor": GREY.css, "titleColor": INK.css, "titleFontWeight": "normal"}
    axis = {"domainColor": GREY.css, "tickColor": GREY.css, "gridColor": GRID.css}
    sizes = {"labelFontSize": 12, "titleFontSize": 13}
    narrow = {"expr": f"width < {NARROW} ? 2 : 0"}  # columns; 0 is one row
    legend = {"orient": "top", "title": None, "columns": narrow}
    return {
        "aria": False,
        "background": "transparent",
        "font": FONT,
        "axis": {**quiet, **axis, **sizes, "labelPadding": 5, "titlePadding": 9},
        "legend": {**quiet, **sizes, **legend},
        "line": {"color": BLUE.css, "strokeWidth": 2.25},
        "point": {"filled": True, "size": 90},
        "rule": {"color": GREY.css},
        "text": {"color": INK.css, "fontSize": 12},
        "view": {"stroke": None},
    }
