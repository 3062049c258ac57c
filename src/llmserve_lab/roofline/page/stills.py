"""The chapter's still pictures: the memory hierarchy, and the roof for a bench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.catalog import Accelerator, Given, MemoryLevel, ModelShape
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.palette import BLUE, GREY, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.page.charts import PHASES

SPAN = (0.3, 3e4)  # of the roof in FLOP/byte, wider where a point lies beyond


@figure_style()
def hierarchy(accelerator: Accelerator, model: ModelShape) -> StaticFigure:
    """Capacity and bandwidth of each memory level; the model's weights as a line.

    Raises:
        LookupError: the catalog has no hierarchy for this accelerator.
    """
    from llmserve_lab.extras import pyplot as plt

    levels = accelerator.levels()
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(4.4, 4.4))
    _bars(upper, levels, "bytes", "capacity")
    _bars(lower, levels, "bandwidth", "bandwidth")
    for axes in (upper, lower):
        axes.invert_yaxis()
    upper.axvline(model.weight_bytes(), color=VERMILLION.light, dashes=(4, 2))
    upper.text(
        model.weight_bytes() / 1.4,
        0.5,
        f"weights of\n{model.name}",
        color=VERMILLION.light,
        ha="right",
        va="center",
    )
    top, bottom = levels[0], levels[-1]
    return StaticFigure.of(
        figure,
        name="roofline.hierarchy",
        title=_who_holds(model.weight_bytes(), levels),
        sentence=(
            f"{accelerator.name}: {top.name} hold {_shown(top.bytes)} and deliver "
            f"{_shown(top.bandwidth)}, {bottom.name} {_shown(bottom.bytes)} and "
            f"{_shown(bottom.bandwidth)}; the weights of {model.name} take "
            f"{si(model.weight_bytes(), 'byte')}."
        ),
    )


def _who_holds(weight_bytes: float, levels: tuple[MemoryLevel, ...]) -> str:
    """The finding: which levels are large enough for the weights."""
    large = [level for level in levels if float(level.bytes) >= weight_bytes]
    if large == [levels[-1]]:
        return "Only the slowest memory is large enough for the weights"
    names = ", ".join(level.name for level in large) or "none of these memories"
    return f"Large enough for the weights: {names}"


def _bars(axes: Any, levels: tuple[MemoryLevel, ...], part: str, label: str) -> None:
    """One bar a level on a logarithmic axis, its value written beside it."""
    records = [getattr(level, part) for level in levels]
    values = [float(record) for record in records]
    axes.barh([level.name for level in levels], values, height=0.55, color=BLUE.light)
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 4, max(values) * 40)
    axes.set_xlabel(label)
    axes.minorticks_off()
    unit = records[0].unit
    axes.xaxis.set_major_formatter(lambda value, _: si(value, unit))
    axes.grid(axis="y", visible=False)
    for place, record in enumerate(records):
        axes.text(float(record) * 1.3, place, _shown(record), va="center")


def _shown(record: Any) -> str:
    return si(float(record), record.unit)


@figure_style()
def roof(
    title: str, *, decode: Mapping[str, Given], prefill: Mapping[str, Given]
) -> StaticFigure:
    """The roof of one machine with a decode and a prefill point of one workload.

    Each phase holds every argument of ``intensity`` and ``attainable_flops`` but the
    intensity, and the ``hbm_bytes`` of the machine, which is the same in both.
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
    stored = float(f.STORED_BYTES.at(decode))
    held = si(float(f.ITERATION_BYTES.at(decode, weight_bytes=stored)), "byte")
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
    beside = {"xytext": (9, -12), "textcoords": "offset points"}
    axes.annotate(name, (x, y), color=color, **beside)
