"""Measured servers: tokens for all against time for each, and under the roof."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.formula.text import plain
from llmserve_lab.page.palette import BLUE, GREY, INK
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.machine import (
    BATCH,
    bound_s,
    measured_batches,
    most_that_fit,
    terms,
)
from llmserve_lab.roofline.measured import MeasuredServer, served
from llmserve_lab.roofline.page.stills import tflops
from llmserve_lab.running_example import ideal

ON_THE_BOUND: dict[int, tuple[int, int]] = {BATCH: (-18, 2), 128: (-24, 2)}
ON_THE_FIT: dict[int, tuple[int, int]] = {256: (-4, 7)}


@figure_style()
def under_the_roof() -> StaticFigure:
    """Measured servers under the datasheet's roof, decodes and prompts counted."""
    from llmserve_lab.extras import pyplot as plt

    known, servers = ideal(), served()
    ridge, low, high = float(f.RIDGE.at(known)), 5.0, 1500.0
    figure, axes = plt.subplots(figsize=(4.4, 2.4))
    line = [low, ridge, high]
    axes.loglog(line, [tflops(known, x) for x in line], color=GREY.light, lw=2.2)
    axes.axvline(ridge, color=GREY.light, lw=1, ls=(0, (3, 3)))
    axes.text(1.06 * ridge, 25, "ridge", color=GREY.light, size=9)
    for each in servers:
        rate = each.flops / each.row.tpot_s / 1e12
        axes.plot(each.intensity, rate, "o", color=BLUE.light, markersize=8)
        beside: dict[str, Any] = {"xytext": (8, -9), "textcoords": "offset points"}
        axes.annotate(f"{each.row.clients}", (each.intensity, rate), **beside)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: plain(value))
    axes.set_xlim(low, high)
    axes.set_ylim(15, 2000)
    axes.set_xlabel("arithmetic intensity (FLOP/byte), log scale")
    axes.set_ylabel("TFLOP/s, log scale")
    reached = [
        each.flops / each.row.tpot_s / 1e12 / tflops(known, each.intensity)
        for each in servers
    ]
    return StaticFigure.of(
        figure,
        name="roofline.under-the-roof",
        title="Measured servers lie under the roof, at half to two thirds of it",
        sentence=(
            f"The five servers of the table by their number of requests, with prompts "
            f"and decodes counted; the line is the datasheet’s roof. They reach "
            f"{max(reached):.0%} of it with {servers[0].row.clients} requests and "
            f"{min(reached):.0%} with {servers[-1].row.clients}."
        ),
    )


@figure_style()
def trade() -> StaticFigure:
    """Tokens per second of all against milliseconds per token, batch by batch."""
    import numpy as np

    from llmserve_lab.extras import pyplot as plt

    full, (_, most) = most_that_fit(), measured_batches()
    batches = [int(b) for b in np.unique(np.geomspace(1, full, 18).round())]
    bound = {b: bound_s(b) for b in (*batches, *ON_THE_BOUND, full)}
    fit = {b: sum(terms(b).values()) for b in (*batches, *ON_THE_FIT, most, full)}
    figure, axes = plt.subplots(figsize=(4.4, 2.7))
    seen = {b: s for b, s in fit.items() if b <= most}
    beyond = {b: s for b, s in fit.items() if b >= most}
    _along(axes, bound, color=GREY.light, lw=2.2, ls="-")
    _along(axes, seen, color=BLUE.light, lw=2.2, ls="-")
    _along(axes, beyond, color=BLUE.light, lw=2.2, ls=(0, (3, 2)))
    _named(axes, bound, ON_THE_BOUND | {full: (-8, 6)}, GREY.light)
    _named(axes, fit, ON_THE_FIT | {full: (-10, 8)}, BLUE.light)
    measured = {each.row.clients: each.row.tpot_s for each in servers_by_size()}
    _along(axes, measured, color=INK.light, lw=0, marker="o", ms=6)
    axes.set_xlim(0, 1.08e3 * fit[full])
    axes.set_ylim(0, 1.1 * full / bound[full])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("milliseconds from token to token, for each request")
    axes.set_ylabel("tokens a second, all requests")
    for x, y, said, ink in (
        (20, 15_400, "the datasheet’s bound", GREY),
        (29, 8_200, "as served (fitted)", BLUE),
        (21, 6_300, f"measured, {min(measured)} to {max(measured)} requests", INK),
    ):
        axes.text(x, y, said, color=ink.light, weight="bold", size=9)
    return StaticFigure.of(
        figure,
        name="roofline.trade",
        title="A larger batch: more tokens for all, slower ones for each",
        sentence=(
            f"Small numbers are requests in the batch. By the bound {full} requests "
            f"get {full / bound[full]:,.0f} tokens a second together and one each "
            f"every {1e3 * bound[full]:.1f} ms; as served {full / fit[full]:,.0f} and "
            f"{1e3 * fit[full]:.1f} ms, beyond {most} requests extrapolated (dashed). "
            f"The measured servers run {min(measured)} to {max(measured)} requests; "
            "their times include the prompts that they read in between."
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
) -> None:
    """Dots on a line, called by their number of requests."""
    for size, beside in where.items():
        at = (1e3 * seconds[size], size / seconds[size])
        axes.plot(*at, marker="|", color=ink, ms=8)
        look: dict[str, Any] = {"xytext": beside, "textcoords": "offset points"}
        axes.annotate(f"{size}", at, color=ink, size=9, **look)
