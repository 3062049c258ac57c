"""The chapter's still pictures: measured speeds beside bounds, bytes of a bench."""

from __future__ import annotations

from collections.abc import Mapping

from llmserve_lab.catalog.evidence.attention import (
    CAUSAL_SPEED,
    CODES,
    FIGURE_LENGTHS,
    FLASH_THREE,
    STANDARD,
)
from llmserve_lab.flash_attention.measured import LONGEST, bound, once_bound
from llmserve_lab.page.palette import BLUE, GREEN, GREY, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

INKS = dict(zip(CODES, (VERMILLION, GREEN, BLUE), strict=True))
TERA = 1e12
NAMES_AT = dict(zip(CODES, ((0.6, 138), (2.1, 246), (2.1, 628)), strict=True))


@figure_style()
def speeds() -> StaticFigure:
    """Measured speed against the prompt, and what the roofline allows."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.8))
    places = range(len(FIGURE_LENGTHS))
    for code in CODES:
        known = CAUSAL_SPEED[code]
        found = [float(known[n]) / TERA for n in FIGURE_LENGTHS if n in known]
        ink = INKS[code].light
        axes.plot(range(len(found)), found, "o-", color=ink)
        axes.text(*NAMES_AT[code], code, color=ink, fontsize=8.5)
        if len(found) < len(FIGURE_LENGTHS):
            x, gone = len(found) - 0.88, "out of memory"
            axes.text(x, found[-1], gone, color=ink, fontsize=7.5, va="center")
    bounds = {
        "limit if all tiles come from HBM": (FLASH_THREE, 4.95, 436),
        "limit of plain, from HBM": (STANDARD, 4.95, 124),
    }
    for text, (code, x, y) in bounds.items():
        drawn = [bound(code, n) / TERA for n in FIGURE_LENGTHS]
        axes.plot(places, drawn, "--", color=GREY.light, lw=1.2)
        axes.text(x, y, text, color=GREY.light, fontsize=8, ha="right")
    once = [once_bound(n) / TERA for n in FIGURE_LENGTHS]
    axes.plot(places, once, ":", color=INK.light, lw=1.2)
    axes.text(
        4.95,
        935,
        "limit if each number passes once",
        color=INK.light,
        fontsize=8,
        ha="right",
    )
    axes.set_xticks(places, [f"{n:,}" for n in FIGURE_LENGTHS])
    axes.set(ylim=(0, 1050), xlabel="tokens of the prompt (doubled from tick to tick)")
    axes.set_ylabel("TFLOP/s (causal, heads of 128)")
    best = float(CAUSAL_SPEED[FLASH_THREE][LONGEST]) / TERA
    tiles = bound(FLASH_THREE, LONGEST) / TERA
    return StaticFigure.of(
        figure,
        sentence=(
            f"H100, causal, heads of 128, batches of {LONGEST:,} tokens in all. "
            f"At {LONGEST:,} tokens FlashAttention-3 reaches {best:.0f} TFLOP/s; with "
            f"every tile from HBM {tiles:.0f} would be the most, and the peak is "
            f"{once[-1]:.0f}."
        ),
        title="FlashAttention-3 beats tiles from HBM: a cache must answer some of them",
        name="flash_attention.speeds",
    )


@figure_style()
def moved(megabytes: Mapping[str, tuple[float, float]], title: str) -> StaticFigure:
    """Megabytes read and written, a bar for each way; both by the name of the way."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 1.9))
    names = list(megabytes)
    read, written = ([pair[i] for pair in megabytes.values()] for i in (0, 1))
    axes.barh(names, read, color=BLUE.light, label="read")
    axes.barh(names, written, left=read, color=VERMILLION.light, label="written")
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("bytes to and from memory (MB)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    said = ", ".join(f"{name} {a + b:.2f} MB" for name, (a, b) in megabytes.items())
    return StaticFigure.of(
        figure,
        sentence=f"{title}: {said}.",
        title=title,
        name="flash_attention.moved",
    )
