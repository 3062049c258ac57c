"""Measured servers: tokens for all against time for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.page.palette import BLUE, GREY, INK
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.roofline import bare
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.machine import BATCH, bound_s
from llmserve_lab.roofline.measured import MeasuredServer, served
from llmserve_lab.running_example import ideal

ON_BOUND = {BATCH: (-18, -2), 128: (-26, 0)}  # names at dots, and their place in points
ALONE = {BATCH: (-19, 1), 128: (-25, 3), 256: (-12, 7)}
SERVED = {BATCH: (5, -10), 64: (-7, 7), 128: (-11, 7)}


@figure_style()
def trade() -> StaticFigure:
    """Tokens per second of all against milliseconds per token, batch by batch."""
    import numpy as np

    from llmserve_lab.extras import pyplot as plt

    knee, timed = round(float(f.RIDGE_ROWS.at(ideal()))), bare.batches()
    most = round(1.4 * knee)  # far enough to show that the bound is level
    corners = {*ON_BOUND, knee, most}
    batches = {int(b) for b in np.unique(np.geomspace(1, most, 30).round())} | corners
    bound = {b: bound_s(b) for b in batches}
    alone = {b: bare.alone_s(b) for b in timed}
    measured = {each.row.clients: each.row.tpot_s for each in servers_by_size()}
    unseen = {each.row.clients: each.predicted_s for each in servers_by_size()}
    least = {
        each.row.clients: each.bound.value + each.prompts_s
        for each in servers_by_size()
    }
    figure, axes = plt.subplots(figsize=(4.4, 2.5))
    _along(axes, bound, label="bound, decodes alone", color=GREY.light, lw=2.2, ls="-")
    blue: dict[str, Any] = {"color": BLUE.light, "lw": 1.6, "marker": "o", "ms": 4.5}
    _along(axes, alone, label="one GPU, decodes alone", ls="-", **blue)
    dots: dict[str, Any] = {"color": INK.light, "lw": 0, "marker": "s", "ms": 5}
    _along(axes, measured, label="servers, with prompts", **dots)
    thin: dict[str, Any] = {"color": INK.light, "lw": 1.2, "ls": (0, (3, 2))}
    _along(axes, unseen, label="predicted, with prompts", **thin)
    dotted: dict[str, Any] = {"color": GREY.light, "lw": 1.6, "ls": (0, (1, 1.5))}
    _along(axes, least, label="bound, with prompts", **dotted)
    _named(axes, bound, ON_BOUND | {knee: (-12, 6)}, GREY.light)
    _named(axes, alone, ALONE, BLUE.light)
    _named(axes, measured, SERVED, INK.light, ms=0)
    axes.set_xlim(0, 1.08e3 * max(*unseen.values(), bound[most]))
    axes.set_ylim(0, 1.15 * most / bound[most])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("milliseconds from token to token, for each request")
    axes.set_ylabel("tokens/s of all")
    figure.legend(
        loc="outside lower center", ncols=2, fontsize=9, handlelength=2,
        columnspacing=1,
    )  # fmt: skip
    full, last = max(timed), servers_by_size()[-1].row
    return StaticFigure.of(
        figure,
        name="roofline.trade",
        title="A larger batch: more tokens in all, slower for each",
        sentence=(
            f"By the bound decodes alone gain up to {knee} requests. One GPU alone "
            f"gives {full} of them {round(full / alone[full], -2):,.0f} tokens a "
            f"second. A server that also reads prompts gives {last.clients} of them "
            f"{round(last.clients / last.tpot_s, -2):,.0f}. The prediction is by a fit "
            "that had not seen this model."
        ),
    )


def servers_by_size() -> list[MeasuredServer]:
    """The measured servers, the smallest batch first."""
    return sorted(served(), key=lambda each: each.row.clients)


def _along(axes: Any, seconds: Mapping[int, float], **look: Any) -> None:
    """A line through batches: time of a token against tokens a second of all."""
    sizes = sorted(seconds)
    across = [1e3 * seconds[size] for size in sizes]
    axes.plot(across, [size / seconds[size] for size in sizes], **look)


def _named(
    axes: Any,
    seconds: Mapping[int, float],
    where: Mapping[int, tuple[int, int]],
    ink: str,
    ms: float = 4.5,
) -> None:
    """Dots on a line, called by their number of requests."""
    for size, beside in where.items():
        at = (1e3 * seconds[size], size / seconds[size])
        axes.plot(*at, marker="o", color=ink, ms=ms)
        look: dict[str, Any] = {"xytext": beside, "textcoords": "offset points"}
        axes.annotate(f"{size}", at, color=ink, size=9, **look)
