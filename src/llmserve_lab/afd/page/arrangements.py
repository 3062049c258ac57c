"""What stands on which machine: a split beside a wide group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llmserve_lab.page.palette import BLUE, GREEN, GREY, INK, PAGE_CSS, Ink
from llmserve_lab.page.still import StaticFigure, figure_style

WORD: dict[str, Any] = {"ha": "center", "va": "center", "color": "white", "size": 9}
HIGH, TOPS = 9.5, (48, 36, 24, 12)  # of drawn machines
Part = tuple[str, Ink, float]


def _machine(axes: Any, left: float, top: float, wide: float, *parts: Part) -> None:
    """A machine, cut into what it holds: words, ink, share of its width."""
    from llmserve_lab.extras import patches

    for words, ink, share in parts:
        axes.add_patch(
            patches.Rectangle(
                (left, top - HIGH), wide * share, HIGH, color=ink.light, lw=0
            )
        )
        place = (left + wide * share / 2, top - HIGH / 2)
        axes.text(*place, words, **WORD | {"size": 8.5, "linespacing": 1.05})
        left += wide * share


def by_night(svg: str) -> str:
    """Words on bars as dark as the page, by night: the bars are light then."""
    return svg.replace("#ffffff", PAGE_CSS)


@figure_style()
def two_ways() -> StaticFigure:
    """What stands where: a split of four machines beside a wide group of four."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.1, 1.92))
    wire: dict[str, Any] = {"color": GREY.light, "lw": 1.6, "linestyle": "-"}
    name: dict[str, Any] = {"color": GREY.light, "ha": "center", "size": 9.5}
    for row in range(3):
        words = f"A{row + 1}: attention,\ncaches"
        _machine(axes, 0, TOPS[row] - 6, 25, (words, BLUE, 1))
        y = TOPS[row] - 6 - HIGH / 2
        axes.plot((25, 31), (y, y), **wire)
    ends = [TOPS[row] - 6 - HIGH / 2 for row in (0, 2)]
    axes.plot((31, 31), ends, **wire)
    axes.plot((31, 37), (sum(ends) / 2,) * 2, **wire)
    _machine(axes, 37, sum(ends) / 2 + HIGH / 2, 12, ("FFN: all\nexperts", GREEN, 1))
    axes.text(31, ends[1] - 6, "wire", va="top", **name)
    for row in range(4):
        parts = ("attention,\ncaches", BLUE, 0.56), ("¼ of the\nexperts", GREEN, 0.44)
        _machine(axes, 57, TOPS[row], 36, *parts)
        y = TOPS[row] - HIGH / 2
        axes.plot((93, 98), (y, y), **wire)
    axes.plot((98, 98), [TOPS[row] - HIGH / 2 for row in (0, 3)], **wire)
    axes.text(98, TOPS[3] - HIGH, "wire", va="top", **name)
    for x, words in ((24, "a split: 3A–1F"), (76, "a wide group of four")):
        axes.text(x, 52, words, ha="center", weight="bold", color=INK.light)
    axes.set_xlim(0, 103)
    axes.set_ylim(-3, 55)
    axes.axis("off")
    drawn = StaticFigure.of(
        figure,
        name="afd.two-ways",
        title="A split keeps attention and experts apart, a wide group has both on "
        "every machine",
        sentence=(
            "Four machines, arranged in two ways. In either, the row of each token "
            "crosses the wire to its experts and back in each layer that has experts."
        ),
    )
    return replace(drawn, svg=by_night(drawn.svg))
