"""The chapter's still pictures: the memory hierarchy, and the roof for a bench."""

from __future__ import annotations

from typing import Any

from llmserve_lab.book.display import plain, si
from llmserve_lab.book.palette import BLUE, GREY, VERMILLION
from llmserve_lab.book.static import StaticFigure, figure_style
from llmserve_lab.catalog import Accelerator, MemoryLevel, ModelShape
from llmserve_lab.roofline import formulas as f


@figure_style()
def hierarchy(accelerator: Accelerator, model: ModelShape) -> StaticFigure:
    """Capacity and bandwidth of each memory level; the model's weights as a line."""
    import matplotlib.pyplot as plt

    levels = accelerator.memory_levels
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
        title="Only the slowest memory is large enough for the weights",
        sentence=(
            f"{accelerator.name}: from {top.name} to {bottom.name} the capacity grows "
            f"from {_shown(top.bytes)} to {_shown(bottom.bytes)} while the bandwidth "
            f"falls from {_shown(top.bandwidth)} to {_shown(bottom.bandwidth)}; the "
            f"weights of {model.name} take {si(model.weight_bytes(), 'byte')}."
        ),
    )


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
def roof(title: str, known: dict[str, float]) -> StaticFigure:
    """The roof of one machine with a decode and a prefill point of one workload.

    ``known`` holds every argument of (1.13) and (1.16) but the intensity.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    ridge = float(f.RIDGE.at(known))
    corners = [0.3, ridge, 30_000.0]
    axes.loglog(corners, [_tflops(known, x) for x in corners], color=GREY.light)
    decode = float(f.INTENSITY.at(known, chunk=1))
    prefill = float(f.INTENSITY.at(known, batch=1))
    _point(axes, "decode", decode, _tflops(known, decode), BLUE.light)
    _point(axes, "prefill", prefill, _tflops(known, prefill), VERMILLION.light)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: plain(value))
    axes.set_xlabel("arithmetic intensity (FLOP/byte)")
    axes.set_ylabel("compute under the roof (TFLOP/s)")
    decode_text, prefill_text, ridge_text = (
        si(value, "FLOP/byte") for value in (decode, prefill, ridge)
    )
    return StaticFigure.of(
        figure,
        sentence=f"{title}: decode does {decode_text} and prefill does {prefill_text}; "
        f"the ridge is at {ridge_text}.",
    )


def _tflops(known: dict[str, float], intensity: float) -> float:
    """Compute under the roof at one intensity, in TFLOP/s as the axis has it."""
    values = f.ATTAINABLE_FLOPS.given(known, intensity=intensity)
    return float(f.ATTAINABLE_FLOPS(**values)) / 1e12


def _point(axes: Any, name: str, x: float, y: float, color: str) -> None:
    axes.plot(x, y, "o", color=color, markersize=9)
    beside = {"xytext": (9, -12), "textcoords": "offset points"}
    axes.annotate(name, (x, y), color=color, **beside)
