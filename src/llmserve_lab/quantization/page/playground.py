"""The chapter's bench: your own weights, format and outliers, rounded before you."""

from __future__ import annotations

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.page.palette import BLUE, GREY, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.table import Table
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn
from llmserve_lab.quantization.codecs import FORMATS, NumberFormat
from llmserve_lab.quantization.schemes import (
    SCALE_BITS,
    Scheme,
    quantize,
    relative_error,
)

NAMES = {each.name: each for each in FORMATS.values()}
GROUPS = ("16", "32", "64", "128", "512")
WIDTH, ROWS, SHOWN = 512, 64, 24


def weights(outliers: int, times: int) -> np.ndarray:
    """Normal weights [64, 512] with so many columns ``times`` as large."""
    whole(first=0, outliers=outliers)
    if outliers > WIDTH:
        raise ValueError(f"outliers must be at most {WIDTH} columns, got {outliers}")
    rng = np.random.default_rng(11)
    made = rng.standard_normal((ROWS, WIDTH))
    made[:, rng.choice(WIDTH, size=outliers, replace=False)] *= times
    return made


def bench() -> Bench:
    """Format, group and outliers open; its picture is the state at the start."""
    knobs: dict[str, Knob] = {
        "number_format": Choose("codes in", tuple(NAMES), "INT4"),
        "group": Choose("numbers that share a scale", GROUPS, "128"),
        "outliers": Turn("outlier columns", 0, 16, 4),
        "times": Turn("times as large", 1, 100, 20),
    }
    picture = _picture(number_format="INT4", group="128", outliers=4, times=20)
    return Bench("Bench: quantize a matrix", knobs, show, picture)


def _scheme(number_format: str, group: str) -> Scheme:
    numbers: NumberFormat = NAMES[number_format]
    return Scheme("", number_format, numbers, "fp16", int(group))


@figure_style()
def _picture(
    *, number_format: str, group: str, outliers: int, times: int
) -> StaticFigure:
    """Part of the first row of weights, an outlier among them, before and after."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.75, 2.4))
    x = weights(outliers, times)
    rounded = quantize(x, _scheme(number_format, group)).dequantize()
    first = SHOWN * (int(np.abs(x[0]).argmax()) // SHOWN)
    at = np.arange(first, first + SHOWN)
    axes.plot(at, x[0, at], "o", ms=4, color=BLUE.light, label="weight")
    axes.plot(
        at, rounded[0, at], "_", ms=8, mew=2, color=VERMILLION.light, label="rounded"
    )
    axes.axhline(0, color=GREY.light, lw=1)
    axes.set(xlabel=f"column ({SHOWN} of {WIDTH})", ylabel="weight (log far from 0)")
    axes.set_yscale("symlog", linthresh=3)
    top = 1.6 * float(np.abs(x[0, at]).max())
    axes.set(ylim=(-top, top), yticks=[-30, -10, -3, 0, 3, 10, 30])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−"))
    axes.minorticks_off()
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.25), ncols=2)
    every, usual = errors(number_format, group, outliers, times)
    return StaticFigure.of(
        figure,
        sentence=(
            f"{number_format}, groups of {group}: the columns that are no outliers are "
            f"off by {usual:.1%}, all columns together by {every:.1%}. (The "
            "bench draws another matrix than the chapter's, so its errors differ.)"
        ),
        title=f"A row of weights in {number_format}, groups of {group}",
        name="quantization.bench",
    )


def show(*, number_format: str, group: str, outliers: int, times: int) -> str:
    """The first row drawn, and a table of errors and bits."""
    picture = _picture(
        number_format=number_format, group=group, outliers=outliers, times=times
    )
    table = _table(number_format, group, outliers, times)
    return picture.html() + table._repr_html_()


def errors(
    number_format: str, group: str, outliers: int, times: int
) -> tuple[float, float]:
    """Error of all weights, and of those that are no outliers."""
    x = weights(outliers, times)
    rounded = quantize(x, _scheme(number_format, group)).dequantize()
    usual = np.abs(x).max(axis=0) < max(np.abs(weights(0, 1)).max(), 1) + 1e-9
    return relative_error(x, rounded), relative_error(x[:, usual], rounded[:, usual])


def _table(number_format: str, group: str, outliers: int, times: int) -> Table:
    scheme = _scheme(number_format, group)
    every, usual = errors(number_format, group, outliers, times)
    bits = scheme.numbers.bits + SCALE_BITS["fp16"] / int(group)
    rows = [
        ("bits of a weight, scale included", f"{bits:.4g}"),
        ("error of all weights", f"{every:.2%}"),
        ("error of the columns that are no outliers", f"{usual:.2%}"),
    ]
    return Table(f"{number_format}, groups of {group}", ("what", "value"), rows)
