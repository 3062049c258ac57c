"""A grid of layouts and uses: which layouts are among the best in each."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.palette import BLUE, GREY, INK
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.parallelism.deployments import SERVER
from llmserve_lab.parallelism.page.stills import (
    CHUNK,
    CONTEXT,
    PROMPT,
    REQUESTS,
    RING,
    SHOWN,
    best,
    decode_ms,
    first_ms,
    layout,
    prefill_rate,
    spans,
)

HEADS = {
    "decode": "decode:\nms a token\n(less is good)",
    "prefill": "prefill: thousand\ntokens/s\n(more is good)",
    "first": "one prompt: ms\nto first token\n(less is good)",
}
ROWS = (*SHOWN, RING)
WIDE, HIGH = 1.94, 0.86  # of a cell, in places


def numbers(name: str, column: str) -> tuple[float, tuple[float, float]] | None:
    """A number of the grid and what it may be, or none."""
    if name == RING and column != "first":
        return None
    value = {"decode": decode_ms, "prefill": prefill_rate, "first": first_ms}[column]
    low, high = spans((name,), column)[name]
    scale = 1e-3 if column == "prefill" else 1.0
    return scale * value(name), (scale * low, scale * high)


def unmeasured(name: str) -> bool:
    """Whether the layout is a pipeline, of which no time was measured."""
    return name != RING and layout(name).stages > 1


def said(name: str, column: str) -> tuple[str, str]:
    """The number of a cell, and its range."""
    found = numbers(name, column)
    if found is None:
        return "\u2013", ""
    value, (low, high) = found
    form = "{:,.0f}" if column == "first" else "{:.1f}"
    more = "+" if name == RING else ""
    return form.format(value), f"{form.format(low)}\u2013{form.format(high)}{more}"


@figure_style()
def eight_gpus() -> StaticFigure:
    """A row a layout, a column a use; filled where no other layout leads."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.75, 3.5))
    for across, (column, head) in enumerate(HEADS.items()):
        left = 2 * across
        axes.annotate(head, (left + WIDE / 2, -0.15), ha="center", fontsize=9.5)
        for down, name in enumerate(ROWS):
            _cell(axes, left, down, name, column)
    for down, name in enumerate(ROWS):
        axes.annotate(
            name, (-0.12, down + HIGH / 2), ha="right", va="center", fontsize=10
        )
    axes.set(xlim=(-1.75, 6), ylim=(len(ROWS), -1.75))
    axes.set_axis_off()
    return StaticFigure.of(
        figure,
        sentence=_sentence(),
        title="No layout is among the best in all three uses",
        name="parallelism.eight-gpus",
    )


def _cell(axes: Any, left: float, down: int, name: str, column: str) -> None:
    """One cell: filled if among the best, dashed if nothing like it was measured."""
    from llmserve_lab.extras import matplotlib as mpl

    good = name in best(column)
    number, span = said(name, column)
    open_ = unmeasured(name) or (name == RING and column == "first")
    look: dict[str, Any] = {
        "facecolor": BLUE.light if good else "none",
        "alpha": 0.28 if good else 1,
        "linewidth": 0,
    }
    axes.add_patch(mpl.patches.Rectangle((left, down), WIDE, HIGH, **look))
    if span:
        edge: dict[str, Any] = {
            "edgecolor": GREY.light,
            "linestyle": "--" if open_ else "-",
        }
        frame = mpl.patches.Rectangle(
            (left, down), WIDE, HIGH, fill=False, linewidth=1, **edge
        )
        axes.add_patch(frame)
    place = (left + 0.72, down + HIGH / 2)
    weight = "bold" if good else "normal"
    axes.annotate(
        number, place, ha="right", va="center", fontsize=10.5, weight=weight,
        color=INK.light,
    )  # fmt: skip
    axes.annotate(
        span, (left + 0.82, down + HIGH / 2), va="center", fontsize=9, color=GREY.light
    )


def _sentence() -> str:
    """What the picture assumes, and what was never measured."""
    return (
        f"Predicted: Llama-3.1-70B in BF16 on eight H100 in two servers of {SERVER}. "
        "Grey: the range, by the measured errors. Filled: no other layout leads. "
        "Dashed: a pipeline, none of which was measured, or a ring with fewer rows "
        "than any that was. "
        f"Decode: {REQUESTS} requests of {CONTEXT:,} tokens, an equal part to each "
        "replica, and in a pipeline as many equal batches as stages. Prefill: prompt "
        f"after prompt of {CHUNK:,} tokens, each one chunk. One prompt: {PROMPT:,} "
        f"tokens alone; each server reads {CHUNK:,} at a time."
    )
