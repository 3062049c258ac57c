"""Layouts in rows, uses in panels: predicted times as bars, from zero."""

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
    SHOWN,
    best,
    panel_ms,
)

HEADS = {
    "decode": "decode: ms\nfrom token to token",
    "prefill": "prefill: ms for\n1,000 tokens",
    "first": "one prompt: ms\nto the first token",
}


@figure_style()
def eight_gpus() -> StaticFigure:
    """A row a layout, a panel a use; blue where a layout is close to the shortest."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(
        1, len(HEADS), figsize=(4.75, 2.1), sharey=True, gridspec_kw={"wspace": 0.12}
    )
    for axes, (column, head) in zip(panels, HEADS.items(), strict=True):
        axes.set_title(head, fontsize=9.5)
        for down, name in enumerate(SHOWN):
            _row(axes, down, name, column)
        longest = max(panel_ms(name, column) for name in SHOWN)
        axes.set(xlim=(0, 1.45 * longest), ylim=(len(SHOWN) - 0.5, -0.5))
        axes.set_yticks(range(len(SHOWN)), SHOWN, fontsize=10)
        axes.set_xticks([0])
        axes.tick_params(length=0, axis="y")
        axes.grid(visible=False)
        axes.tick_params(axis="x", labelsize=9)
    return StaticFigure.of(
        figure,
        sentence=_sentence(),
        title="TP 4 × PP 2 and TP 2 × PP 4 are among the best twice",
        name="parallelism.eight-gpus",
    )


def _row(axes: Any, down: int, name: str, column: str) -> None:
    """A bar from zero and its number: blue if close to the shortest."""
    value, good = panel_ms(name, column), name in best(column)
    axes.barh(down, value, height=0.62, color=(BLUE if good else GREY).light)
    axes.annotate(
        f"{value:,.0f}" if column == "first" else f"{value:.1f}",
        (value, down),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=10,
        weight="bold" if good else "normal",
        color=INK.light,
    )


def _sentence() -> str:
    """What the picture assumes, and how it is read."""
    return (
        f"Llama-3.1-70B in BF16 on eight H100 in two servers of {SERVER}, predicted. "
        "Blue: less than a fifth longer than the shortest; shorter is better. "
        f"Decode: {REQUESTS} requests of {CONTEXT:,} tokens, "
        f"in equal parts and batches. Prefill: prompt after prompt of {CHUNK:,} "
        f"tokens, each one chunk. One prompt: {PROMPT:,} tokens alone, {CHUNK:,} at a "
        "time."
    )
