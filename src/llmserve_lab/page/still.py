"""What was counted or simulated is drawn once, with the same inks as what moves.

matplotlib draws; what comes out is one SVG element that stands in the page, follows its
theme, says in a sentence what it shows, and is the same byte for byte on every run.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmserve_lab.page.alone import alone
from llmserve_lab.page.html import ON_WHITE, digest, escape, number_of_figure, tag
from llmserve_lab.page.palette import GREY, GRID, INK, SERIES, on_paper, themed
from llmserve_lab.page.svg import tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 4.75, 3.3  # inches, small enough that the text is legible on a phone
LEAST = 9.0  # CSS pixels of the smallest text, on the narrowest screen
PHONE = 329  # CSS pixels that a drawing has on a phone of 390, and two more
SIZES = re.compile(r"\bfont(?:-size)?[:=][^;\"]*?([\d.]+)(?:px|\")")


def style() -> Any:
    """The matplotlib parameters of the book, by name."""
    from cycler import cycler

    dashes = [(0, ink.dash) if ink.dash else "-" for ink in SERIES]
    cycle = cycler(color=[ink.light for ink in SERIES]) + cycler(linestyle=dashes)
    colours = dict.fromkeys(("text.color", "axes.titlecolor"), INK.light)
    quiet = ("axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor")
    lines = ("axes.edgecolor", "xtick.color", "ytick.color", "patch.edgecolor")
    return {
        **colours,
        **dict.fromkeys((*quiet, *lines), GREY.light),
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.prop_cycle": cycle,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.constrained_layout.use": True,
        "figure.figsize": (WIDTH, HEIGHT),
        "font.family": "DejaVu Sans",
        "font.size": 9.5,
        "grid.color": GRID.light,
        "grid.linewidth": 0.75,
        "legend.frameon": False,
        "legend.columnspacing": 1.3,
        "legend.handlelength": 2.3,
        "lines.linewidth": 1.7,
        "savefig.transparent": True,
        "svg.fonttype": "none",
    }


@contextmanager
def figure_style() -> Iterator[None]:
    """Set the book's style for a with-block, or as a decorator for a function."""
    from llmserve_lab.extras import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(style())
        yield


@dataclass(frozen=True)
class StaticFigure:
    """A drawing with the sentence that states what it shows, its numbers included.

    Under its ``name`` (chapter and function) the text refers to it.
    """

    svg: str
    sentence: str
    title: str = ""
    name: str = ""

    @classmethod
    def of(
        cls, figure: Figure, *, sentence: str, title: str = "", name: str = ""
    ) -> StaticFigure:
        """Take what matplotlib has drawn; the figure is closed."""
        from llmserve_lab.extras import matplotlib as mpl
        from llmserve_lab.extras import pyplot as plt

        page = io.StringIO()
        with mpl.rc_context({**style(), "svg.hashsalt": "llmserve_lab"}):
            figure.savefig(page, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
        return cls(page.getvalue(), sentence, title, name)

    def save(self, path: str) -> None:
        """Write the drawing as it looks on paper, for a picture outside the book."""
        with open(path, "w", encoding="utf-8") as page:
            page.write(on_paper(self.svg))

    def __repr__(self) -> str:
        return self.sentence

    def _repr_mimebundle_(self, **_kwargs: Any) -> dict[str, str]:
        return {"text/plain": self.sentence, "text/html": self.html()}

    def html(self) -> str:
        """The ``<figure>``: title, drawing with its alternative text, caption."""
        key = f"static-{digest([self.svg, self.sentence])}"
        svg = themed(tidy(self.svg, prefix=key, decimals=1))
        head = number_of_figure(self.name) + escape(self.title)
        title = tag("p", head, class_="live-title") if head else ""
        wide = needs(svg)
        picture = tag(
            "div",
            svg.replace("max-width", f"min-width: {wide}px; max-width", 1)
            if wide
            else svg,
            class_="live-picture wide" if wide else "live-picture",
            role="img",
            aria_label=self.sentence,
            tabindex="0" if wide else None,
        )
        caption = tag("figcaption", escape(self.sentence))
        attributes = {"class_": "static", "id": key, "style": ON_WHITE}
        inside = f"{title}\n{picture}\n{alone(svg)}\n{caption}"
        return tag("figure", inside, **attributes)


def needs(svg: str) -> int:
    """Pixels below which a drawing's text is too small to read; 0 if a phone has them.

    Where a screen has less, the drawing scrolls.
    """
    head = re.search(r'viewBox="0 0 ([\d.]+) ', svg)
    sizes = [float(size) for size in SIZES.findall(svg)]
    if head is None or not sizes:
        return 0
    wide = math.ceil(LEAST / min(sizes) * float(head[1]))
    return wide if wide > PHONE else 0
