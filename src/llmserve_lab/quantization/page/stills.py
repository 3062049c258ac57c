"""The chapter's still pictures: bits and numbers of the formats, groups, gains."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.catalog.evidence import quantization as papers
from llmserve_lab.page.palette import (
    BLUE,
    GREEN,
    GREY,
    INK,
    VERMILLION,
    Ink,
)
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.quantization import kv_eviction, outliers
from llmserve_lab.quantization.codecs import FORMATS, NumberFormat
from llmserve_lab.quantization.measured import rate_gain
from llmserve_lab.quantization.outliers import NUM_OUTLIERS
from llmserve_lab.quantization.page.questions import gain
from llmserve_lab.quantization.schemes import SCHEMES
from llmserve_lab.quantization.speed import Bits, overtaken, overtaken_between
from llmserve_lab.quantization.tables import TOKENS

FIELD_INKS = {"sign": GREY, "exponent": VERMILLION, "mantissa": BLUE}
WHOLE = ("integer", GREEN)  # two's complement: no bit is a sign alone
BATCHES = tuple(range(1, 257))
THIN = 0.004  # of the picture: what two neighbouring lines are apart at least
CHOICES: dict[Bits, tuple[str, Ink, float, float]] = {  # name, ink, where it stands
    Bits("int4"): ("INT4 weights", BLUE, 4.6, 1.87),
    Bits("fp8"): ("FP8 weights", VERMILLION, 0.95, 1.54),
    Bits("bf16", "fp8"): ("FP8 cache", GREEN, 4, 1.08),
}
RUNS: dict[str, tuple[str, Ink, str, float, float]] = {  # the same, and its points
    "int4": ("INT4", BLUE, "o", 0.95, 0.8),
    "fp8": ("FP8", VERMILLION, "s", 20, 1.37),
}
MATRICES = {  # planted outlier columns: what the matrix is like, its ink and dash
    NUM_OUTLIERS: ("INT4, four outlier columns", VERMILLION, "-"),
    0: ("INT4, no outliers", BLUE, "--"),
}
GROUP_SIZES = (128, 32, 16)
GROUP_NAMES = {  # where it is written on the line with outliers
    "one scale for all": (4.04, 2.0, "left"),
    "a scale a row": (4.08, 1.22, "left"),
    "groups of 128": (4.19, 0.73, "left"),
    "of 32": (4.53, 0.4, "left"),
    "of 16": (5, 0.31, "center"),
}
FORMATS_DRAWN = {  # on which panel; where the name stands, by the planted columns
    "mxfp4": (0, {NUM_OUTLIERS: (4.21, 0.25, "right"), 0: (4.25, 0.075, "center")}),
    "nvfp4": (0, {NUM_OUTLIERS: (4.56, 0.172, "left"), 0: (4.5, 0.061, "center")}),
    "fp8": (1, {0: (7.96, 0.0265, "right")}),
    "int8": (1, {NUM_OUTLIERS: (7.98, 0.0695, "right"), 0: (7.98, 0.0074, "right")}),
}
POLICIES = {"window": GREY, "window with sinks": VERMILLION, "observed attention": BLUE}
KEPT = (24, 32, 48, 64, 96, 128)


def _apart(numbers: np.ndarray) -> np.ndarray:
    """Numbers without those that would be drawn on top of the one before."""
    ordered = np.sort(numbers)
    first = np.append(True, np.diff(np.floor(ordered / THIN)) > 0)
    return np.asarray(ordered[first])


def _fields(each: NumberFormat) -> list[tuple[str, Ink, int]]:
    """The bits of a code from the left: name, ink, how many."""
    if not each.fields[1]:  # no exponent: a whole number
        return [(*WHOLE, each.bits)]
    named = zip(FIELD_INKS.items(), each.fields, strict=True)
    return [(name, ink, width) for (name, ink), width in named]


@figure_style()
def layouts() -> StaticFigure:
    """Bits of each format, and where its numbers lie between 0 and its largest."""
    from llmserve_lab.extras import patches
    from llmserve_lab.extras import pyplot as plt

    figure, (bits, line) = plt.subplots(
        1, 2, figsize=(4.75, 2.6), sharey=True, width_ratios=(1.15, 1)
    )
    for row, each in enumerate(FORMATS.values()):
        left = 0
        for _, ink, width in _fields(each):
            bits.barh(row, width, left=left, height=0.62, color=ink.light)
            left += width
        cuts = np.repeat(np.arange(left + 1.0), 3)  # one path between the bits
        ends = np.tile([row - 0.31, row + 0.31, np.nan], left + 1)
        bits.plot(cuts, ends, "-", color="white", lw=1.2)
        shown = each.numbers() / each.largest
        shown = shown[shown >= 0]
        if len(shown) > 1000:
            line.barh(row, 1, height=0.62, color=GREY.light, alpha=0.5)
            line.text(0.5, row, "too dense to draw", ha="center", va="center")
        else:
            shown = _apart(shown)
            x = np.repeat(shown, 3)  # one path: down, up, and a gap
            y = np.tile([row - 0.31, row + 0.31, np.nan], len(shown))
            thin = 0.3 if len(shown) > 100 else 0.7
            line.plot(x, y, "-", color=INK.light, lw=thin)
    bits.set_yticks(range(len(FORMATS)), [each.name for each in FORMATS.values()])
    bits.invert_yaxis()
    bits.set(xlabel="bits", xlim=(-0.2, 16.2))
    line.set(xlabel="numbers, the largest = 1", xlim=(-0.03, 1.03))
    for axes in (bits, line):
        axes.grid(visible=False)
    inks = (*FIELD_INKS.items(), WHOLE)
    keys = [patches.Patch(color=ink.light, label=name) for name, ink in inks]
    figure.legend(handles=keys, loc="outside upper center", ncols=4)
    return StaticFigure.of(
        figure,
        sentence=(
            "Integers lie at equal distances. Floating-point numbers crowd near zero: "
            "the more exponent bits, the more of them lie there."
        ),
        title="Exponent bits put numbers near zero; integers lie evenly",
        name="quantization.layouts",
    )


@figure_style()
def groups() -> StaticFigure:
    """Error of ordinary numbers against their bits, scale included, on two matrices."""
    from llmserve_lab.extras import pyplot as plt

    figure, (few, eight) = plt.subplots(
        1, 2, figsize=(4.75, 2.9), sharey=True, width_ratios=(3.4, 1)
    )
    bits = [4.0, *(4 + 16 / g for g in (outliers.COLUMNS, *GROUP_SIZES))]
    for num, (name, ink, way) in MATRICES.items():
        errors = outliers.by_group(outliers.matrix(num_outliers=num))
        few.plot(bits, list(errors.values()), "o" + way, color=ink.light, ms=4,
                 label=name)  # fmt: skip
        for key, (panel, places) in FORMATS_DRAWN.items():
            on = (few, eight)[panel]
            x, y = outliers.by_scheme(key, num_outliers=num)
            both = len(places) == 1  # points that nearly coincide: one in a ring
            on.plot([x], [y], "D", color=ink.light, ms=9 if both and num else 6)
            if num in places:
                *where, side = places[num]
                said = SCHEMES[key].name.split()[0] + (", both" if both else "")
                shade = INK if both else ink
                on.text(*where, said, color=shade.light, ha=side, va="center")
    figure.legend(loc="outside upper center", ncols=2)
    for name, (*where, side) in GROUP_NAMES.items():
        few.text(*where, name, color=VERMILLION.light, ha=side, va="center")
    spoilt = list(outliers.by_group(outliers.matrix()).values())
    few.set(xlim=(3.62, 5.2), ylabel="error of ordinary numbers (log)")
    eight.set(xlim=(7.7, 8.35))
    eight.spines["left"].set_visible(False)
    eight.tick_params(left=False)
    few.set(yscale="log", ylim=(0.005, 2.9))
    few.set_yticks([0.01, 0.03, 0.1, 0.3, 1])
    few.set_xticks([4, 4.5, 5])
    eight.set_xticks([8])
    for axes in (few, eight):
        axes.minorticks_off()
    few.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    figure.supxlabel("bits of a number, its share of the scale included", fontsize=9.5,
                     color=GREY.light)  # fmt: skip
    usual = outliers.by_group(outliers.matrix(num_outliers=0))
    first, *_, last = usual
    return StaticFigure.of(
        figure,
        sentence=(
            f"Without outliers (like most weights) the error falls from "
            f"{usual[first]:.0%} to {usual[last]:.0%}, with four outlier columns (like "
            f"activations) from {spoilt[0]:.0%} to {spoilt[-1]:.0%}. Diamonds: other "
            f"formats on the same two matrices; the two of FP8 coincide. The axis is "
            f"broken."
        ),
        title="Smaller groups cost up to one bit more; with outliers they help most",
        name="quantization.groups",
    )


def _panel(axes: Any, title: str, ticks: tuple[int, ...]) -> None:
    axes.axhline(1, color=GREY.light, lw=1)
    axes.set(xscale="log", xlim=(0.8 * ticks[0], 1.25 * ticks[-1]), ylim=(0.65, 2.0))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xticks(ticks)
    axes.minorticks_off()
    axes.set_title(title, fontsize=9)


def _lines(axes: Any) -> tuple[int, int, int]:
    """A step by the formula against the batch; where INT4 and FP8 are level."""
    for bits, (name, ink, *place) in CHOICES.items():
        gains = [gain(bits, batch) for batch in BATCHES]
        axes.plot(BATCHES, gains, "-", color=ink.light)
        axes.text(*place, name, color=ink.light)
    four, eight = Bits("int4"), Bits("fp8")
    level = overtaken(four, eight, context=TOKENS)
    least, most = overtaken_between(four, eight, context=TOKENS)
    axes.axvline(level, color=GREY.light, lw=1, ls=":")
    axes.axvspan(least, most, color=GREY.light, alpha=0.18, lw=0)
    return level, least, most


def _newer(axes: Any) -> None:
    """Whole runs on an H200: measured, and by the formula for the same run."""
    for weights, (name, ink, shape, *place) in RUNS.items():
        batches = list(papers.RATES["bf16"])
        both = [rate_gain(weights, batch) for batch in batches]
        look = {"color": ink.light, "ms": 5}
        axes.plot(batches, [seen for seen, _ in both], shape + "-", **look)
        axes.plot(batches, [said for _, said in both], "--", color=ink.light, lw=1)
        axes.text(*place, name, color=ink.light)
    axes.text(1.3, 1.62, "formula", color=BLUE.light)


def _older(axes: Any) -> None:
    """What an older engine was measured at, on an H100."""
    for weights, (name, ink, shape, *_) in RUNS.items():
        old = papers.OLD_GAINS[weights]
        gains = [float(each) for each in old.values()]
        axes.text(2, gains[0] + (0.07 if weights == "int4" else -0.2), name,
                  color=ink.light)  # fmt: skip
        axes.plot(list(old), gains, shape + "-", color=ink.light, ms=5)


@figure_style()
def gains() -> StaticFigure:
    """Speed over 16 bits against the batch: a step by the formula, measured runs."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplot_mosaic(
        [["step", "step"], ["newer", "older"]], figsize=(4.5, 3.6), sharey=True
    )
    _panel(panels["step"], "formula: a step, H100", (1, 4, 16, 64, 256))
    _panel(panels["newer"], "measured: H200", (1, 8, 64))
    _panel(panels["older"], "older engine, H100", (2, 8, 32, 64))
    level, least, most = _lines(panels["step"])
    _newer(panels["newer"])
    _older(panels["older"])
    panels["older"].tick_params(labelleft=True)
    figure.supylabel("times as fast as 16 bits", fontsize=9.5, color=GREY.light)
    figure.supxlabel("requests in the batch (log)", fontsize=9.5, color=GREY.light)
    return StaticFigure.of(
        figure,
        sentence=(
            f"Above, a decode step, {TOKENS:,} tokens a request, unpacking free: INT4 "
            f"and FP8 are level at {level} requests (dotted), by other assumptions at "
            f"{least} to {most} (pale). Below, whole runs with prompts in two versions "
            f"of NVIDIA's engine, left Llama-3.1-8B, right Llama-3-8B; dashed, the "
            f"formula for the same runs."
        ),
        title="By the formula INT4 and FP8 weights gain less as the batch grows; "
        "measured, FP8 need not, and INT4 can even lose",
        name="quantization.gains",
    )


@figure_style()
def forgotten() -> StaticFigure:
    """Error of a head's output against the share of the cache that is kept."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.75, 2.8))
    head = kv_eviction.synthetic_head()
    for name, ink in POLICIES.items():
        errors = [head.error(kv_eviction.kept_by(head, keep)[name]) for keep in KEPT]
        axes.plot(
            [keep / len(head.keys) for keep in KEPT], errors, "o-", color=ink.light,
            label=name,
        )  # fmt: skip
    axes.set(yscale="log", ylim=(0.01, 6))
    axes.set_yticks([0.01, 0.03, 0.1, 0.3, 1, 3])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("share of the cache that is kept")
    axes.set_ylabel("error of the output (log)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=3)
    quarter = {k: head.error(p) for k, p in kv_eviction.kept_by(head, 64).items()}
    said = ", ".join(f"{name} {error:.0%}" for name, error in quarter.items())
    return StaticFigure.of(
        figure,
        sentence=f"With a quarter of the tokens kept the output is off by: {said}.",
        title="In this head, which tokens are kept matters more than how many",
        name="quantization.forgotten",
    )
