"""Layouts in rows, uses in panels: corrected numbers, and how far off they may be."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.palette import BLUE, GREY, INK
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.parallelism.deployments import SERVER
from llmserve_lab.parallelism.leads import Span
from llmserve_lab.parallelism.page.stills import (
    CHUNK,
    CONTEXT,
    PROMPT,
    REQUESTS,
    RING,
    SHOWN,
    best,
    layout,
    ranged,
)

HEADS = {
    "decode": "decode:\nms a token\n(less is good)",
    "prefill": "prefill: thousand\ntokens/s\n(more is good)",
    "first": "one prompt: ms\nto first token\n(less is good)",
}
ROWS = (*SHOWN, RING)
SHOWS = {"decode": (12.0, 76.0), "prefill": (8.0, 43.0), "first": (300.0, 1250.0)}


def numbers(name: str, column: str) -> tuple[float, Span] | None:
    """The corrected number of a layout and what it may be, or none."""
    if name == RING and column != "first":
        return None
    time = ranged(name, column)
    if column == "prefill":
        low, high = (1e-3 / each for each in reversed(time.span))
        return 1e-3 / time.middle, (low, high)
    return time.middle, time.span


def unmeasured(name: str) -> bool:
    """Whether nothing like it was measured: a pipeline, or a ring of so few rows."""
    return name == RING or layout(name).stages > 1


@figure_style()
def eight_gpus() -> StaticFigure:
    """A row a layout, a panel a use; blue where no other layout leads."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(
        1, len(HEADS), figsize=(4.75, 2.9), sharey=True, gridspec_kw={"wspace": 0.12}
    )
    for axes, (column, head) in zip(panels, HEADS.items(), strict=True):
        axes.set_title(head, fontsize=9.5)
        for down, name in enumerate(ROWS):
            _row(axes, down, name, column)
        axes.set(xlim=SHOWS[column], ylim=(len(ROWS) - 0.5, -0.5))
        axes.set_yticks(range(len(ROWS)), ROWS, fontsize=10)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.tick_params(axis="x", labelsize=9)
        axes.locator_params(axis="x", nbins=3)
    return StaticFigure.of(
        figure,
        sentence=_sentence(),
        title="No layout is among the best in all three uses",
        name="parallelism.eight-gpus",
    )


def _row(axes: Any, down: int, name: str, column: str) -> None:
    """A dot, its whisker and its number: blue if among the best, open if unmeasured."""
    found = numbers(name, column)
    if found is None:
        return
    middle, (low, high) = found
    good = name in best(column)
    ink = BLUE.light if good else GREY.light
    open_ = unmeasured(name)
    axes.plot(
        (low, high), (down, down), "|-", color=ink, linewidth=1.5, markersize=7,
        markeredgewidth=1.5,
    )  # fmt: skip
    axes.plot(
        middle, down, "o", markersize=5, markeredgecolor=ink, markeredgewidth=1.3,
        markerfacecolor="white" if open_ else ink,
    )  # fmt: skip
    form = "{:,.0f}" if column == "first" else "{:.1f}"
    right = high < sum(SHOWS[column]) / 2 * 1.1
    axes.annotate(
        form.format(middle) + "+" * (name == RING),
        (high if right else low, down),
        xytext=(5 if right else -5, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        fontsize=10,
        weight="bold" if good else "normal",
        color=INK.light,
    )


def _sentence() -> str:
    """What the picture assumes, and what was never measured."""
    return (
        f"Llama-3.1-70B in BF16 on eight H100 in two servers of {SERVER}, predicted. "
        "Dot and number: corrected; line: the range. Blue: no other layout leads. "
        "Open: never measured, a pipeline or a ring of so few rows (+: it may be "
        f"slower). Decode: {REQUESTS} requests of {CONTEXT:,} tokens, in equal parts "
        f"and batches. Prefill: prompt after prompt of {CHUNK:,} tokens, each one "
        f"chunk. One prompt: {PROMPT:,} tokens alone, {CHUNK:,} at a time."
    )
