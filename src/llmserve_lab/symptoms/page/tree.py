"""Map of first measurements: from what users feel to the question to ask of metrics."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.palette import BLUE, GREEN, GREY, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

# What is felt, the question, and what yes and no point to.
BRANCHES: tuple[tuple[str, str, str, str], ...] = (
    (
        "the first token is late",
        "is most of it queue time?",
        "yes: seats, cache or\nreplicas are missing",
        "no: the prompt is long, or\nits cache is not found",
    ),
    (
        "answers pause",
        "do preemptions grow?",
        "yes: fewer seats,\nmore cache",
        "no: one iteration takes\ntoo many tokens",
    ),
    (
        "answers are slow throughout",
        "is the median ITL high?",
        "yes: the batch is large, or\ndrafts do not pay",
        "no: look at its P99,\nand at the client",
    ),
    (
        "too few tokens per GPU",
        "is the KV cache full?",
        "yes: memory sets the batch:\nfewer bits, shared prompts",
        "no: too few requests, or\nGPUs wait for each other",
    ),
)


@figure_style()
def first_measurement() -> StaticFigure:
    """Four things that users feel, and the metric to look at first."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(3.9, 4.8))
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(4 * len(BRANCHES) - 0.4, -0.2))
    for at, (felt, question, yes, no) in enumerate(BRANCHES):
        y = 4 * at
        _box(axes, 0.5, y + 0.45, felt, INK.light, bold=True)
        _line(axes, (0.5, y + 0.75), (0.5, y + 1.05))
        _box(axes, 0.5, y + 1.35, question, BLUE.light)
        _line(axes, (0.5, y + 1.65), (0.24, y + 2.0))
        _line(axes, (0.5, y + 1.65), (0.76, y + 2.0))
        _box(axes, 0.24, y + 2.55, yes, VERMILLION.light)
        _box(axes, 0.76, y + 2.55, no, GREEN.light)
    said = (
        f"If {felt}: {question} {_flat(yes)}; {_flat(no)}."
        for felt, question, yes, no in BRANCHES
    )
    return StaticFigure.of(
        figure,
        sentence=" ".join(said),
        title="Which measurement first",
        name="symptoms.map",
    )


def _flat(text: str) -> str:
    return text.replace("\n", " ")


def _box(
    axes: Any, x: float, y: float, text: str, edge: str, *, bold: bool = False
) -> None:
    frame = {"boxstyle": "round,pad=0.35", "facecolor": "none", "edgecolor": edge}
    weight = "bold" if bold else "normal"
    look = {"ha": "center", "va": "center", "color": INK.light, "fontsize": 8.5}
    axes.text(x, y, text, bbox=frame, fontweight=weight, **look)


def _line(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    (x, y), (x2, y2) = start, end
    axes.plot((x, x2), (y, y2), color=GREY.light, linewidth=1.2, linestyle="-")
