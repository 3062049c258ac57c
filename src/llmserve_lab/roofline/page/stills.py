"""The chapter's still pictures: the memory path, a served iteration, a bench's roof."""

from __future__ import annotations

from collections.abc import Mapping
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
    most_that_fit,
    terms,
)
from llmserve_lab.roofline.page.charts import PHASES
from llmserve_lab.running_example import device, model

SPAN = (0.3, 3e4)  # of the roof in FLOP/byte, wider where a point lies beyond
WIDEST, BOX = 3.7, (3.7, 1.1)  # inches: the widest pipe, the box of the largest memory
STEP, LEFT = 0.78, 0.15  # inches from one level to the next, and to the left edge
TERM_INKS = {
    "read weights": MEANINGS["weights"],
    "read cache": MEANINGS["cache"],
    "compute, not hidden": MEANINGS["compute"],
    "launches": MEANINGS["other"],
}


@figure_style()
def hierarchy(accelerator: Accelerator, shape: ModelShape) -> StaticFigure:
    """The path from memory to the tensor cores: areas are bytes, widths bytes/s.

    Raises:
        LookupError: the catalog has no hierarchy for this accelerator.
    """
    from llmserve_lab.extras import pyplot as plt

    levels = accelerator.levels()
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
        wide = width > WIDEST / 2  # then its name stands under its left end
        axes.text(
            0.05 if wide else (WIDEST + width) / 2 + 0.12,
            y - 0.13 if wide else y + long / 2,
            _shown(level.bandwidth),
            va="center",
        )


def _rectangle(axes: Any, x: float, y: float, w: float, h: float, ink: str) -> None:
    from llmserve_lab.extras import patches

    axes.add_patch(patches.Rectangle((x, y), w, h, facecolor=ink, edgecolor="none"))


def _shown(record: Any) -> str:
    return si(float(record), record.unit)


@figure_style()
def served(context: int = MEAN_CONTEXT) -> StaticFigure:
    """A decode iteration against its batch, term by term, and the datasheet's bound."""
    import numpy as np

    from llmserve_lab.extras import pyplot as plt

    full = most_that_fit(context)
    batches = np.unique(np.linspace(1, full, 24, dtype=int))
    parts = [terms(int(batch), context) for batch in batches]
    stacked = [[1e3 * part[name] for part in parts] for name in TERM_INKS]
    figure, axes = plt.subplots(figsize=(4.2, 3.7))
    inks = [ink.light for ink in TERM_INKS.values()]
    axes.stackplot(batches, stacked, colors=inks, labels=list(TERM_INKS), lw=0)
    bound = [1e3 * bound_s(int(batch), context) for batch in batches]
    axes.plot(batches, bound, color=GRID.light, lw=5, ls="-")
    look: dict[str, Any] = {"color": INK.light, "lw": 2.2, "ls": (0, (4, 2))}
    axes.plot(batches, bound, label="datasheet’s bound", **look)
    end = 1.1 * full
    axes.axvspan(full, end, facecolor=GRID.light, edgecolor="none")
    place: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "bottom", "size": 9}
    axes.text((full + end) / 2, 1, "memory full", color=GREY.light, **place)
    axes.set_xlim(1, end)
    axes.set_ylim(0, 1.25 * sum(stacked[n][-1] for n in range(len(stacked))))
    axes.set_xticks([1, 100, 200, 300, 400])
    axes.set_xlabel("requests that decode together")
    axes.set_ylabel("time of an iteration (ms)")
    axes.legend(loc="upper left", fontsize=9.5)
    one, all_ = (sum(terms(b, context).values()) for b in (1, full))
    return StaticFigure.of(
        figure,
        name="roofline.served",
        title="Reading, then launching, make a small batch slow; caches make a large "
        "one slow",
        sentence=(
            f"{model().name} on one {device().name}, {context:,} tokens in cache for "
            f"each request, as measured servers run it. Alone a request gets a token "
            f"every {si(one, 's')} (bound {si(bound_s(1, context), 's')}), with "
            f"{full} beside each other every {si(all_, 's')} (bound "
            f"{si(bound_s(full, context), 's')})."
        ),
    )


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
    axes.loglog(line, [_tflops(decode, x) for x in line], color=GREY.light)
    for x, (name, ink) in zip(points, PHASES.inks.items(), strict=True):
        _point(axes, name, x, _tflops(decode, x), ink.light)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: plain(value))
    axes.set_xlabel("arithmetic intensity (FLOP/byte)")
    axes.set_ylabel("compute under the roof (TFLOP/s)")
    does = [si(x, "FLOP/byte") for x in (*points, ridge)]
    held = si(held_bytes, "byte")
    return StaticFigure.of(
        figure,
        sentence=f"{title}: decode does {does[0]} and prefill does {does[1]}; the "
        f"ridge is at {does[2]}. Weights and cache take {held} where "
        f"{si(float(decode['hbm_bytes']), 'byte')} can be held.",
    )


def _tflops(known: Mapping[str, Given], intensity: float) -> float:
    """Compute under the roof at one intensity, in TFLOP/s as the axis has it."""
    return float(f.ATTAINABLE_FLOPS.at(known, intensity=intensity)) / 1e12


def _point(axes: Any, name: str, x: float, y: float, color: str) -> None:
    axes.plot(x, y, "o", color=color, markersize=9)
    below = name == "decode"
    place = (9, -14) if below else (-4, 9)
    beside = {"xytext": place, "textcoords": "offset points", "weight": "bold"}
    axes.annotate(name, (x, y), color=color, **beside)
