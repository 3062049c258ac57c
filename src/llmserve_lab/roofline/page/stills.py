"""The chapter's still pictures: the memory path, a served iteration, a bench's roof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

from llmserve_lab.catalog import Accelerator, Given, MemoryLevel, ModelShape
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.palette import BLUE, GREY, GRID, INK, MEANINGS
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.machine import (
    MEAN_CONTEXT,
    bound_s,
    measured_batches,
    most_that_fit,
    terms,
)
from llmserve_lab.roofline.page.charts import PHASES
from llmserve_lab.running_example import device, model

SPAN = (0.3, 3e4)  # of the roof in FLOP/byte, wider where a point lies beyond
WIDEST, BOX = 3.7, (3.7, 0.9)  # inches: the widest pipe, the box of the largest memory
STEP, LEFT = 0.68, 0.15  # inches from one level to the next, and to the left edge
TERM_INKS = {
    "read weights": MEANINGS["weights"],
    "read cache": MEANINGS["cache"],
    "compute, not hidden": MEANINGS["compute"],
    "launches and gaps": MEANINGS["other"],
    "scheduling": MEANINGS["empty"],
}
TOTALS = (1, 8, 32, 128)  # requests above which the whole time is written


@figure_style()
def hierarchy(accelerator: Accelerator, shape: ModelShape) -> StaticFigure:
    """The path of a weight to the tensor cores: areas are bytes, widths bytes/s.

    Registers are not on it: Hopper's tensor cores read tiles from shared memory.

    Raises:
        LookupError: the catalog has no hierarchy for this accelerator.
    """
    from llmserve_lab.extras import pyplot as plt

    *upper, hbm = accelerator.levels()
    passed = [level for level in upper if level.name != "registers"]
    levels = (*passed, replace(hbm, bytes=accelerator.usable_bytes))
    high = BOX[1] + STEP * len(levels)
    figure, axes = plt.subplots(figsize=(WIDEST + 2 * LEFT, high))
    axes.set_axis_off()
    axes.set_xlim(-LEFT, WIDEST + LEFT)
    axes.set_ylim(-0.02, high)
    axes.set_aspect("equal")
    _boxes(axes, levels, shape.weight_bytes())
    _pipes(axes, levels)
    _rectangle(axes, 0, BOX[1] + STEP * len(levels) - 0.35, WIDEST, 0.3, GRID.light)
    axes.text(
        WIDEST / 2,
        BOX[1] + STEP * len(levels) - 0.21,
        "tensor cores",
        ha="center",
        va="center",
        weight="bold",
    )
    top, bottom = levels[0], levels[-1]
    return StaticFigure.of(
        figure,
        name="roofline.hierarchy",
        title=_who_holds(shape.weight_bytes(), levels),
        sentence=(
            f"{accelerator.name}, drawn to scale: the area of a box is what it holds, "
            f"the width of a pipe what it delivers. {bottom.name} holds "
            f"{_shown(bottom.bytes)} and delivers {_shown(bottom.bandwidth)}, the "
            f"{top.name} {_shown(top.bytes)} and {_shown(top.bandwidth)}. The weights "
            f"of {shape.name} take {si(shape.weight_bytes(), 'byte')}."
        ),
    )


def _who_holds(weight_bytes: float, levels: tuple[MemoryLevel, ...]) -> str:
    """The finding: which levels are large enough for the weights."""
    large = [level for level in levels if float(level.bytes) >= weight_bytes]
    if large == [levels[-1]]:
        return "Only the slowest memory is large enough for the weights"
    names = ", ".join(level.name for level in large) or "none of these memories"
    return f"Large enough for the weights: {names}"


def _boxes(axes: Any, levels: tuple[MemoryLevel, ...], weight_bytes: float) -> None:
    """The largest memory with the weights in it, and the others as they compare."""
    bottom = levels[-1]
    per_byte = BOX[0] * BOX[1] / float(bottom.bytes)  # square inches
    _rectangle(axes, 0, 0, *BOX, GRID.light)
    _rectangle(axes, 0, 0, weight_bytes * per_byte / BOX[1], BOX[1], BLUE.light)
    beside = min(weight_bytes * per_byte / BOX[1], BOX[0] / 2) + 0.1
    held = si(weight_bytes, "byte")
    axes.text(beside, 0.3, f"weights: {held}", va="center", color=BLUE.light)
    name = f"{bottom.name}: {_shown(bottom.bytes)}"
    axes.text(beside, 0.75, name, va="center", weight="bold")
    for place, level in enumerate(levels[-2::-1], start=1):
        side = sqrt(float(level.bytes) * per_byte)
        y = BOX[1] + STEP * place - 0.28
        _rectangle(axes, (WIDEST - side) / 2, y, side, side, INK.light)
        name = f"{level.name}: {_shown(level.bytes)}"
        axes.text(WIDEST / 2 + 0.2, y, name, va="center", weight="bold", size=9)


def _pipes(axes: Any, levels: tuple[MemoryLevel, ...]) -> None:
    """A pipe up from each level, as wide as its bandwidth."""
    per_inch = max(float(level.bandwidth) for level in levels) / WIDEST
    for place, level in enumerate(levels[::-1]):
        width = float(level.bandwidth) / per_inch
        gap = 0.16 if place else 0.0
        y, long = BOX[1] + STEP * place - gap, STEP - 0.36 + gap
        _rectangle(axes, (WIDEST - width) / 2, y, width, long, MEANINGS["new"].light)
        wide = width > WIDEST / 2  # then its name stands in it
        axes.text(
            WIDEST / 2 if wide else (WIDEST + width) / 2 + 0.12,
            y + long / 2,
            _shown(level.bandwidth),
            va="center",
            ha="center" if wide else "left",
            color=GRID.light if wide else INK.light,
        )


def _rectangle(axes: Any, x: float, y: float, w: float, h: float, ink: str) -> None:
    from llmserve_lab.extras import patches

    axes.add_patch(patches.Rectangle((x, y), w, h, facecolor=ink, edgecolor="none"))


def _shown(record: Any) -> str:
    return si(float(record), record.unit)


@figure_style()
def served(context: int = MEAN_CONTEXT) -> StaticFigure:
    """Shares of a decode iteration against its batch, and of the datasheet's bound."""
    import numpy as np

    from llmserve_lab.extras import pyplot as plt

    full = most_that_fit(context)
    batches = np.unique(np.geomspace(1, full, 18).round().astype(int))
    parts = [terms(int(batch), context) for batch in batches]
    whole = [sum(part.values()) for part in parts]
    stacked = [
        [100 * part[name] / all_ for part, all_ in zip(parts, whole, strict=True)]
        for name in TERM_INKS
    ]
    figure, axes = plt.subplots(figsize=(4.4, 3.4))
    inks = [ink.light for ink in TERM_INKS.values()]
    axes.stackplot(batches, stacked, colors=inks, labels=list(TERM_INKS), lw=0)
    bound = [
        100 * bound_s(int(batch), context) / all_
        for batch, all_ in zip(batches, whole, strict=True)
    ]
    axes.plot(batches, bound, color=GRID.light, lw=7, ls="-")
    look: dict[str, Any] = {"color": INK.light, "lw": 3, "ls": "-"}
    axes.plot(batches, bound, label="datasheet’s bound", **look)
    axes.grid(visible=False)
    _above(axes, [*TOTALS, full], context)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xlim(1, full)
    axes.set_ylim(0, 128)
    axes.set_xticks([*TOTALS, full], [f"{tick}" for tick in (*TOTALS, full)])
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.set_xlabel("requests that decode together, log scale")
    axes.set_ylabel("share of the iteration (%)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=9)
    one, all_ = (sum(terms(b, context).values()) for b in (1, full))
    fewest, most = measured_batches()
    return StaticFigure.of(
        figure,
        name="roofline.served",
        title="A small batch waits for weights, a large one for caches",
        sentence=(
            f"{model().name} on one {device().name}, {context:,} tokens in cache for "
            f"each request, as served (fitted); the numbers at the top are the whole "
            f"iteration. Alone a request gets a token every {si(one, 's', 2)} (bound "
            f"{si(bound_s(1, context), 's', 2)}); with {full}, which fill memory, it "
            f"would get one every {si(all_, 's', 2)} (bound "
            f"{si(bound_s(full, context), 's', 2)}). Both ends are extrapolated: "
            f"servers were measured with {fewest} to {most} requests."
        ),
    )


def _above(axes: Any, batches: Sequence[int], context: int) -> None:
    """Over the shares: the whole time, and where servers were measured."""
    for batch in batches:
        ends = {batches[0]: "left", batches[-1]: "right"}
        whole = si(sum(terms(batch, context).values()), "s", 2)
        at = batch * (1.06 if batch == batches[0] else 1)  # clear of the axis
        axes.text(at, 103, whole, ha=ends.get(batch, "center"), size=9)
    low, high = measured_batches()
    axes.plot([low, high], [114, 114], color=GREY.light, lw=2, marker="|", ls="-")
    middle = (low * high) ** 0.5
    axes.text(middle, 117, "servers were measured here", ha="center", size=9)


@figure_style()
def roof(
    title: str,
    *,
    decode: Mapping[str, Given],
    prefill: Mapping[str, Given],
    held_bytes: float,
) -> StaticFigure:
    """The roof of one machine with a decode and a prefill point of one workload.

    Each phase holds every argument of ``intensity`` and ``attainable_flops`` but the
    intensity, and the ``hbm_bytes`` of the machine, which is the same in both;
    ``held_bytes`` are those of the weights and of decode's caches.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    ridge = float(f.RIDGE.at(decode))
    points = [float(f.INTENSITY.at(phase)) for phase in (decode, prefill)]
    line = sorted((*SPAN, ridge, *points))
    axes.loglog(line, [tflops(decode, x) for x in line], color=GREY.light)
    axes.axvline(ridge, color=GREY.light, lw=1, ls=(0, (3, 3)))
    foot: dict[str, Any] = {
        "xytext": (5, 8),
        "textcoords": "offset points",
        "color": GREY.light,
    }
    axes.annotate("ridge", (ridge, tflops(decode, line[0])), **foot)
    for x, (name, ink) in zip(points, PHASES.inks.items(), strict=True):
        _point(axes, name, x, tflops(decode, x), ink.light)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: plain(value))
    axes.set_xlabel("arithmetic intensity (FLOP/byte)")
    axes.set_ylabel("attainable compute (TFLOP/s)")
    does = [si(x, "FLOP/byte") for x in (*points, ridge)]
    held = si(held_bytes, "byte")
    return StaticFigure.of(
        figure,
        sentence=f"{title}: decode does {does[0]} and prefill does {does[1]}; the "
        f"ridge is at {does[2]}. Weights and cache take {held} where "
        f"{si(float(decode['hbm_bytes']), 'byte')} can be held.",
    )


def tflops(known: Mapping[str, Given], intensity: float) -> float:
    """Compute under the roof at one intensity, in TFLOP/s as the axis has it."""
    return float(f.ATTAINABLE_FLOPS.at(known, intensity=intensity)) / 1e12


def _point(axes: Any, name: str, x: float, y: float, color: str) -> None:
    axes.plot(x, y, "o", color=color, markersize=9)
    below = name == "decode"
    place = (9, -14) if below else (-4, 9)
    beside = {"xytext": place, "textcoords": "offset points", "weight": "bold"}
    axes.annotate(name, (x, y), color=color, **beside)
