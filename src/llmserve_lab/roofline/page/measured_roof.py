"""Measured servers as points under the datasheet's roof."""

from __future__ import annotations

from typing import Any

from llmserve_lab.formula.text import plain
from llmserve_lab.page.palette import BLUE, GREY
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.measured import served
from llmserve_lab.roofline.page.stills import tflops
from llmserve_lab.running_example import ideal


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
