"""A layer on two GPUs in three cuts: what each GPU has, and what goes between them."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.palette import BLUE, GREY, INK, PURPLE
from llmserve_lab.page.still import StaticFigure, figure_style

GPUS = 2
# What each GPU does in a layer, from top to bottom: (step, rows, part of the weights),
# or what is sent between the steps.
Step = tuple[str, str, str]
CUTS: dict[str, tuple[Step | str, ...]] = {
    "TP": (
        ("norm", "all rows", ""),
        ("attention", "all rows", "½ heads"),
        "all-reduce",
        ("norm", "all rows", ""),
        ("network", "all rows", "½ weights"),
        "all-reduce",
    ),
    "TP with SP": (
        ("norm", "½ rows", ""),
        "all-gather",
        ("attention", "all rows", "½ heads"),
        "reduce-scatter",
        ("norm", "½ rows", ""),
        "all-gather",
        ("network", "all rows", "½ weights"),
        "reduce-scatter",
    ),
    "DP attention": (
        ("norm", "own rows", ""),
        ("attention", "own rows", "all heads"),
        ("norm", "own rows", ""),
        "all-gather",
        ("network", "all rows", "½ weights"),
        "reduce-scatter",
    ),
}
BOX, PART, GAP = 1.0, 0.42, 0.14  # heights; PART is that of the bytes of a half
PARTS = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1}
BELOW = 6.55  # where the sum stands


@figure_style()
def layer_cuts() -> StaticFigure:
    """Three panels: boxes of two GPUs, and a bar where both exchange rows."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(1, len(CUTS), figsize=(4.75, 2.9))
    for axes, (name, steps) in zip(panels, CUTS.items(), strict=True):
        _draw(axes, steps)
        axes.set_title(name, fontsize=10)
    return StaticFigure.of(
        figure,
        sentence="From top to bottom one layer on two GPUs. Blue: a step with "
        "weights, and which part of them the GPU has. Grey: a step without. Purple: "
        "both exchange rows, as tall as the bytes are many: an all-gather or a "
        "reduce-scatter is one part, an all-reduce two.",
        title="SP sends as much as TP, in halves; DP attention sends half as much",
        name="parallelism.layer-cuts",
    )


def _draw(axes: Any, steps: tuple[Step | str, ...]) -> None:
    from llmserve_lab.extras import matplotlib as mpl

    down = 0.0
    for step in steps:
        if isinstance(step, str):
            look: dict[str, Any] = {
                "facecolor": PURPLE.light,
                "alpha": 0.3,
                "linewidth": 0,
            }
            tall = PARTS[step] * PART
            axes.add_patch(mpl.patches.Rectangle((0, down), 2, tall, **look))
            _write(axes, 1, down + tall / 2, step)
            down += tall + GAP
            continue
        what, rows, part = step
        ink = BLUE if part else GREY
        high = BOX if part else 0.7 * BOX
        for gpu in range(GPUS):
            look = {"facecolor": ink.light, "alpha": 0.18, "linewidth": 0}
            at = (gpu + 0.03, down)
            axes.add_patch(mpl.patches.Rectangle(at, 0.94, high, **look))
            lines = [each for each in (what, part, rows) if each]
            _write(axes, gpu + 0.5, down + high / 2, "\n".join(lines))
        down += high + GAP
    sent = sum(PARTS[step] for step in steps if isinstance(step, str))
    _write(axes, 1, BELOW, f"sends {sent} parts", weight="bold")
    axes.set(xlim=(0, 2), ylim=(BELOW + 0.35, 0))
    axes.set_axis_off()


def _write(axes: Any, x: float, y: float, text: str, weight: str = "normal") -> None:
    axes.annotate(
        text, (x, y), ha="center", va="center", fontsize=9, color=INK.light,
        linespacing=1.05, weight=weight,
    )  # fmt: skip
