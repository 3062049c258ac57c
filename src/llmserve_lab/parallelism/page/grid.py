"""Layouts in rows, uses in panels: predicted times as bars, from zero."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.palette import BLUE, GREY, INK
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.parallelism.page.stills import (
    CHUNK,
    CONTEXT,
    PROMPT,
    REQUESTS,
    SHOWN,
    layout,
    one_batch_ms,
    panel_ms,
)

COMPARED = ("TP 4 × DP 2", "TP 4 × PP 2")
HEADS = {
    "decode": "decode: ms\nfrom token to token",
    "prefill": "prefill: ms for\n1,000 tokens",
    "first": "one prompt: ms\nto the first token",
}


@figure_style()
def eight_gpus() -> StaticFigure:
    """A row a layout, a panel a use; blue are the two that the page compares."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(
        1,
        len(HEADS),
        figsize=(4.75, 2.1),
        sharey=True,
        gridspec_kw={"wspace": 0.12, "width_ratios": (1.35, 1, 1)},
    )
    for axes, (column, head) in zip(panels, HEADS.items(), strict=True):
        axes.set_title(head, fontsize=9.5)
        for down, name in enumerate(SHOWN):
            _row(axes, down, name, column)
        longest = max(max(_ends(name, column)) for name in SHOWN)
        room = 1.75 if column == "decode" else 1.45  # for the numbers
        axes.set(xlim=(0, room * longest), ylim=(len(SHOWN) - 0.5, -0.5))
        axes.set_yticks(range(len(SHOWN)), SHOWN, fontsize=10)
        axes.set_xticks([0])
        axes.tick_params(length=0, axis="y")
        axes.grid(visible=False)
        axes.tick_params(axis="x", labelsize=9)
    return StaticFigure.of(
        figure,
        sentence=_sentence(),
        title="TP 4 × PP 2 beats TP 4 × DP 2 only for one prompt",
        name="parallelism.eight-gpus",
    )


def _row(axes: Any, down: int, name: str, column: str) -> None:
    """A bar from zero and its number; a line on to what a burst takes."""
    ends, good = _ends(name, column), name in COMPARED
    axes.barh(down, ends[0], height=0.62, color=(BLUE if good else GREY).light)
    if len(ends) > 1:
        axes.plot(ends, (down, down), color=INK.light, linewidth=1.3, marker="|")
    axes.annotate(
        "\u2013".join(
            f"{each:,.0f}" if column == "first" else f"{each:.1f}" for each in ends
        ),
        (ends[-1], down),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=10,
        weight="bold" if good else "normal",
        color=INK.light,
    )


def _ends(name: str, column: str) -> tuple[float, ...]:
    """Its time; of a pipeline in decode also that with all requests in one batch."""
    value = panel_ms(name, column)
    if column != "decode" or layout(name).stages == 1:
        return (value,)
    return value, one_batch_ms(name)


def _sentence() -> str:
    """What the picture assumes, and how it is read."""
    return (
        "Llama-3.1-70B on eight H100, predicted; shorter is better. Decode: "
        f"{REQUESTS} requests of {CONTEXT:,} tokens, pipelines from equal batches to "
        f"one. Prefill: prompts of {CHUNK:,} tokens, each one chunk. One prompt: "
        f"{PROMPT:,} tokens alone, {CHUNK:,} at a time."
    )
