"""The chapter's still pictures: bits and numbers of the formats, groups, gains."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from llmserve_lab.page.palette import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PURPLE,
    VERMILLION,
    Ink,
)
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.quantization import eviction, outliers
from llmserve_lab.quantization.codecs import FORMATS, NumberFormat
from llmserve_lab.quantization.measured import by_clients, pairs
from llmserve_lab.quantization.page.questions import gain
from llmserve_lab.quantization.schemes import SCHEMES
from llmserve_lab.quantization.speed import Bits, fits, served
from llmserve_lab.quantization.tables import TOKENS

FIELD_INKS = {"sign": GREY, "exponent": VERMILLION, "mantissa": BLUE}
WHOLE = ("integer", GREEN)  # two's complement: no bit is a sign alone
BATCHES = tuple(range(1, 257))
THIN = 0.004  # of the picture: what two neighbouring lines are apart at least
CHOICES = {  # weights and cache: how it is called, its ink, where that is written
    Bits("int4", "bf16"): ("INT4 weights", BLUE, (1.0, 1.92)),
    Bits("fp8", "bf16"): ("FP8 weights", VERMILLION, (2.2, 1.355)),
    Bits("bf16", "fp8"): ("FP8 cache", GREEN, (50, 1.03)),
    Bits("fp8", "fp8"): ("FP8 weights and cache", PURPLE, (1.0, 1.52)),
}
FORMATS_DRAWN = (  # beside INT4: where the name stands, its ink
    ("mxfp4", (-0.08, 0.035), GREEN),
    ("nvfp4", (0.68, -0.02), PURPLE),
    ("fp8", (-0.1, -0.01), INK),
    ("int8", (-0.1, 0.05), GREY),
)
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
        1, 2, figsize=(5.6, 2.8), sharey=True, width_ratios=(1.15, 1)
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
    line.set(xlabel="numbers, 0 to the largest = 1", xlim=(-0.03, 1.03))
    for axes in (bits, line):
        axes.grid(visible=False)
    inks = (*FIELD_INKS.items(), WHOLE)
    keys = [patches.Patch(color=ink.light, label=name) for name, ink in inks]
    figure.legend(handles=keys, loc="outside upper center", ncols=4)
    return StaticFigure.of(
        figure,
        sentence=(
            "Integers lie at equal distances. Floating-point numbers crowd near zero: "
            "the more exponent bits, the more of them."
        ),
        title="Exponent bits put numbers near zero; integers lie evenly",
        name="quantization.layouts",
    )


@figure_style()
def groups() -> StaticFigure:
    """Error on ordinary weights against the bits of a weight, scale included."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.2, 2.7))
    with_them = outliers.by_group(outliers.matrix())
    without = outliers.by_group(outliers.matrix(num_outliers=0))
    bits = [4.0, *(4 + 16 / g for g in (outliers.COLUMNS, 128, 32, 16))]
    axes.plot(bits, list(with_them.values()), "o-", color=VERMILLION.light)
    axes.plot(bits, list(without.values()), "s--", color=BLUE.light, ms=4)
    at: dict[str, Any] = {"color": VERMILLION.light, "va": "center"}
    words = (
        "INT4, one scale for all",
        "a scale a row",
        "128",
        "32",
        "INT4, groups of 16",
    )
    for x, y, said in zip(bits, with_them.values(), words, strict=True):
        axes.text(x + 0.09, y + 0.02, said, **at)
    axes.text(5.1, 0.085, "INT4 without outliers", color=BLUE.light, va="center")
    for key, place, ink in FORMATS_DRAWN:
        x, y = outliers.by_scheme(key)
        axes.plot([x], [y], "D", color=ink.light)
        axes.text(x + place[0], y + place[1], SCHEMES[key].name, color=ink.light,
                  ha="right", va="center")  # fmt: skip
    axes.set(xlim=(3.55, 8.3), ylim=(-0.02, 1.08), ylabel="error of the other columns")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("bits of a weight, scale included")
    first, *_, last = with_them
    said = ", ".join(
        f"{SCHEMES[key].name} {outliers.by_scheme(key)[1]:.1%}"
        for key, *_ in FORMATS_DRAWN
    )
    return StaticFigure.of(
        figure,
        sentence=(
            f"With outliers, one scale for all rounds every other weight to zero "
            f"(error {with_them[first]:.0%}); {last} leave {with_them[last]:.0%}. "
            f"Without them it is {without[first]:.0%} and {without[last]:.0%}. "
            f"Other formats, outliers in the matrix: {said}."
        ),
        title="Smaller groups take a few bits more and save most of the error",
        name="quantization.groups",
    )


def _ridge(bits: Bits) -> int:
    """Requests at which computing the layers takes as long as reading the weights."""
    cost = served(bits)
    return round(cost.weights_s / cost.row_s)


@figure_style()
def gains() -> StaticFigure:
    """Speed of a decode step over 16 bits against the batch, for four choices."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.0, 2.75))
    most = fits(served(Bits()), context=TOKENS)
    ends = {}
    for bits, (name, ink, place) in CHOICES.items():
        ends[name] = [gain(bits, batch) for batch in BATCHES]
        axes.plot(BATCHES, ends[name], "-", color=ink.light)
        axes.text(*place, name, color=ink.light)
    axes.axvline(most, color=GREY.light, lw=1)
    axes.text(0.93 * most, 1.96, f"16 bits: memory full at {most}",
              ha="right", va="top", color=GREY.light)  # fmt: skip
    axes.axhline(1, color=GREY.light, lw=1)
    wide = _ridge(Bits())
    for bits in (Bits("int4"), Bits("fp8", "fp8")):
        name, ink, _ = CHOICES[bits]
        at = [_ridge(bits), wide]
        axes.plot(at, [ends[name][each - 1] for each in at], "o", color=ink.light)
    axes.set(xscale="log", ylim=(0.9, 2.0), xlim=(0.87, 480))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xticks([1, 4, 16, 64, 256])
    axes.minorticks_off()
    axes.set_xlabel(f"requests in the batch, {TOKENS:,} tokens each (log)")
    axes.set_ylabel("times as fast as 16 bits")
    one, many = (ends["INT4 weights"][at] for at in (0, -1))
    return StaticFigure.of(
        figure,
        sentence=(
            f"Lines: a decode step on an H100, predicted with free unpacking. INT4 "
            f"weights gain {one:.2f} times for one request, {many:.2f} for 256. Dots: "
            f"computing takes as long as reading the weights, in INT4 at "
            f"{_ridge(Bits('int4'))} requests, in FP8 at {_ridge(Bits('fp8'))} and in "
            f"16 bits at {wide}."
        ),
        title="The gain of INT4 weights melts as the batch grows; that of FP8 stays",
        name="quantization.gains",
    )


@figure_style()
def forgotten() -> StaticFigure:
    """Error of a head's output against the share of the cache that is kept."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.2, 2.8))
    head = eviction.synthetic_head()
    for name, ink in POLICIES.items():
        errors = [head.error(eviction.kept_by(head, keep)[name]) for keep in KEPT]
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
    quarter = {k: head.error(p) for k, p in eviction.kept_by(head, 64).items()}
    said = ", ".join(f"{name} {error:.0%}" for name, error in quarter.items())
    return StaticFigure.of(
        figure,
        sentence=f"With a quarter of the tokens kept the output is off by: {said}.",
        title="In this head, which tokens are kept matters more than how many",
        name="quantization.forgotten",
    )


@figure_style()
def measured_gains() -> StaticFigure:
    """Measured and fitted gain of FP8 over BF16 against clients."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.2, 2.8))
    found = pairs("bf16", "fp8", wide_engine="vllm", tps=(2, 4))
    for tp, ink, shape in ((2, BLUE, "o"), (4, VERMILLION, "s")):
        of = by_clients(found, "trtllm", tp)
        at = [clients * (1 + 0.03 * (tp - 3)) for clients in of]  # side by side
        seen = [sorted(p.measured for p in each) for each in of.values()]
        said = [median(p.predicted for p in each) for each in of.values()]
        middle = [median(each) for each in seen]
        axes.vlines(at, [x[0] for x in seen], [x[-1] for x in seen], color=ink.light)
        axes.plot(at, middle, shape, color=ink.light, label=f"measured, {tp} GPUs")
        axes.plot(list(of), said, "-", color=ink.light, label=f"fitted, {tp} GPUs")
    axes.axhline(1, color=GREY.light, lw=1)
    least = min(p.measured for p in found)
    axes.set(xscale="log", ylim=(least - 0.05, 1.7))
    axes.set_xticks([8, 16, 32, 64, 128])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.minorticks_off()
    axes.set_xlabel("clients at a time (log)")
    axes.set_ylabel("BF16 time over FP8 time")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.32), ncols=2)
    return StaticFigure.of(
        figure,
        sentence=(
            "Qwen3-32B on H100: time per output token in BF16 (vLLM) over FP8 "
            "(TensorRT-LLM), medians over prompt lengths, from least to most, beside "
            "the model that was fitted to these rows."
        ),
        title="Half the bytes made the median run about 1.5 times as fast at best",
        name="quantization.measured",
    )
