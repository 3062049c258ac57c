"""The chapter's still pictures: the memory path, and the roof of a bench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from typing import Any

from llmserve_lab.catalog import Accelerator, Given, MemoryLevel, ModelShape
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.palette import BLUE, GREY, GRID, INK, MEANINGS
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.page.charts import PHASES

SPAN = (0.3, 3e4)  # of the roof in FLOP/byte, wider where a point lies beyond
WIDEST, BOX = 3.7, (3.7, 0.9)  # inches: the widest pipe, the box of the largest memory
STEP, LEFT = 0.68, 0.15  # inches from one level to the next, and to the left edge
SPARED = 0.6  # inches: a name beside the drawing makes it narrower, and so less high


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
    wide = WIDEST + 2 * LEFT
    figure, axes = plt.subplots(figsize=(wide, high - SPARED))
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
            f"{accelerator.name}, drawn to scale: the area of a memory is what it "
            f"holds, the width of a pipe what it delivers. {bottom.name} holds "
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
        many = " of all" if level is levels[0] else ""  # each multiprocessor has one
        name = f"{level.name}{many}: {_shown(level.bytes)}"
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
        about = "≈ " if place else ""  # only that of the largest memory is printed
        axes.text(
            WIDEST / 2 if wide else (WIDEST + width) / 2 + 0.12,
            y + long / 2,
            about + _shown(level.bandwidth),
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
