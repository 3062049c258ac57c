"""Measured servers: tokens for all against time for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.page.palette import BLUE, GREY, INK
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.roofline.measured import MeasuredServer, served

SERVED = {32: (5, -10), 64: (5, -10), 128: (-8, -14)}  # names at dots: their places


@figure_style()
def trade() -> StaticFigure:
    """Tokens per second of all against milliseconds per token, batch by batch."""
    from llmserve_lab.extras import pyplot as plt

    by_size = servers_by_size()
    measured = {each.row.clients: each.row.tpot_s for each in by_size}
    alone = {each.row.clients: each.alone_s for each in by_size}
    least = {each.row.clients: each.bound.value + each.prompts_s for each in by_size}
    figure, axes = plt.subplots(figsize=(4.4, 2.2))
    _along(
        axes, least, label="bound, prompts counted", color=GREY.light, lw=2.2, ls="-"
    )
    blue: dict[str, Any] = {"color": BLUE.light, "lw": 1.6, "marker": "o", "ms": 4.5}
    _along(axes, alone, label="GPU alone", ls="-", **blue)
    dots: dict[str, Any] = {"color": INK.light, "lw": 0, "marker": "s", "ms": 5}
    _along(axes, measured, label="server", **dots)
    _named(axes, measured, SERVED, INK.light)
    axes.set_xlim(0, 1.1e3 * max(*measured.values(), *alone.values()))
    axes.set_ylim(0, 1.15 * max(size / least[size] for size in least))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("milliseconds from token to token, for each request")
    axes.set_ylabel("tokens/s of all")
    axes.legend(loc="upper left", fontsize=9, handlelength=2)
    first, last = by_size[0].row, by_size[-1].row
    return StaticFigure.of(
        figure,
        name="roofline.trade",
        title="A larger batch: more tokens in all, slower for each",
        sentence=(
            "All with the servers’ prompts and answers, each iteration with its share "
            f"of new prompts. From {first.clients} to {last.clients} requests the "
            f"server goes from {_rate(first)} to {_rate(last)} tokens a second."
        ),
    )


def _rate(row: Any) -> str:
    return f"{round(row.clients / row.tpot_s, -2):,.0f}"


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
) -> None:
    """Dots on a line, called by their number of requests."""
    for size, beside in where.items():
        at = (1e3 * seconds[size], size / seconds[size])
        look: dict[str, Any] = {"xytext": beside, "textcoords": "offset points"}
        axes.annotate(f"{size}", at, color=ink, size=9, **look)
