"""Drawings: three kernels and one above the chip, and what a tile takes on it."""

from __future__ import annotations

from typing import Any

from llmserve_lab.catalog.evidence.attention import (
    REGISTERS_PER_SM,
    SHARED_PER_BLOCK,
    STAGES,
)
from llmserve_lab.flash_attention.arguments import (
    BYTES,
    BYTES_SUM,
    fits,
    heads,
    multiprocessors,
)
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GOLD, GREEN, GREY, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.running_example import device

CHAPTER = "flash_attention"
TILES = ((128, 128), (256, 80), (256, 128), (512, 16))
KIB = 1024
INKS = (VERMILLION, GREEN, GREY, GOLD, BLUE)  # queries, keys; output, scores, weights


@figure_style()
def fused() -> StaticFigure:
    """HBM, the L2 cache and the chip, with what three kernels and one send through."""
    from llmserve_lab.extras import pyplot as plt

    gpu = device()
    hbm = f"{si(float(gpu.hbm_bytes), 'byte')}, {si(float(gpu.hbm_bw), 'byte/s')}"
    l2 = si(float(gpu.memory_levels[2].bytes), "byte")
    figure, axes = plt.subplots(figsize=(4.7, 2.8))
    axes.set(xlim=(0, 12), ylim=(0, 9))
    axes.axis("off")
    _box(axes, (0, 7.6, 12, 1.2), f"HBM: {hbm}", GREY.light)
    _box(axes, (0, 6.5, 12, 0.8), f"L2 cache: {l2}, shared by all SMs", GREY.light)
    kernels = (
        (0.1, 2.2, "scores", ("q, k", "scores")),
        (2.6, 2.2, "softmax", ("scores", "weights")),
        (5.1, 2.2, "mixing", ("weights, v", "output")),
        (8.4, 3.5, "FlashAttention", ("q, k, v", "output")),
    )
    for i, (left, wide, name, passed) in enumerate(kernels):
        ink = GREEN.light if i == len(kernels) - 1 else VERMILLION.light
        _box(axes, (left, 2.1, wide, 1.2), name, ink)
        for part, text in enumerate(passed):
            x = left + wide * (0.27 if part == 0 else 0.73)
            ends = ((x, 6.4), (x, 3.4)) if part == 0 else ((x, 3.4), (x, 6.4))
            thick = 3.5 if text in ("scores", "weights", "weights, v") else 1.2
            _arrow(axes, *ends, ink, thick)
            axes.text(x + 0.08, 4.9, text, rotation=90, va="center", fontsize=8)
    axes.text(3.7, 1.35, "plain: three kernels", ha="center", weight="bold")
    axes.text(10.1, 1.35, "fused: one kernel", ha="center", weight="bold")
    chip = (
        f"on each of {int(float(multiprocessors()))} SMs: "
        f"{float(REGISTERS_PER_SM) / KIB:.0f} KiB registers, "
        f"{float(SHARED_PER_BLOCK) / KIB + 1:.0f} KiB shared memory"
    )
    axes.text(6, 0.35, chip, ha="center", color=GREY.light, fontsize=8.5)
    return StaticFigure.of(
        figure,
        name=f"{CHAPTER}.fused",
        title="Three kernels send the square through HBM four times, one kernel never",
        sentence=(
            "Thick arrows carry a number for each pair of tokens: scores and weights, "
            "each written and read again."
        ),
    )


def _box(
    axes: Any, place: tuple[float, float, float, float], text: str, ink: str
) -> None:
    x, y, wide, high = place
    look = {"fill": False, "edgecolor": ink, "linewidth": 1.5}
    axes.add_patch(_rectangle((x, y), wide, high, look))
    axes.text(x + wide / 2, y + high / 2, text, ha="center", va="center", fontsize=9)


def _rectangle(at: tuple[float, float], wide: float, high: float, look: Any) -> Any:
    from llmserve_lab.extras import patches

    return patches.Rectangle(at, wide, high, **look)


def _arrow(
    axes: Any, tail: tuple[float, float], tip: tuple[float, float], ink: str, lw: float
) -> None:
    look = {"arrowstyle": "-|>", "color": ink, "linewidth": lw, "shrinkA": 0}
    axes.annotate("", xy=tip, xytext=tail, arrowprops=look)


def shared_parts(rows: int, keys: int) -> dict[str, float]:
    """Bytes of shared memory by what lies in it: queries, keys with values."""
    width = float(heads()["d_head"])
    return {
        "queries": BYTES * rows * width,
        "keys and values": 2 * float(STAGES) * BYTES * keys * width,
    }


def register_parts(rows: int, keys: int) -> dict[str, float]:
    """Bytes of registers by what they hold: output, scores, weights."""
    width = float(heads()["d_head"])
    return {
        "output": BYTES_SUM * rows * width,
        "scores": BYTES_SUM * rows * keys,
        "weights": BYTES * rows * keys,
    }


@figure_style()
def rooms() -> StaticFigure:
    """Bars of what four tiles take of shared memory and of registers, in KiB."""
    from llmserve_lab.extras import pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(5.2, 1.9), sharey=True)
    width = int(float(heads()["d_head"]))
    names = [f"{rows} × {keys}" for rows, keys in TILES]
    panels = (
        (shared_parts, SHARED_PER_BLOCK, "shared memory of a block", INKS[:2]),
        (register_parts, REGISTERS_PER_SM, "registers", INKS[2:]),
    )
    for axes, (parts, most, title, inks) in zip(both, panels, strict=True):
        left = [0.0] * len(TILES)
        for part, ink in zip(parts(1, 1), inks, strict=True):
            sizes = [parts(*tile)[part] / KIB for tile in TILES]
            axes.barh(names, sizes, left=left, color=ink.light, label=part, height=0.6)
            left = [a + b for a, b in zip(left, sizes, strict=True)]
        room = float(most) / KIB
        axes.axvline(room, color=INK.light, lw=1.5)
        axes.text(room + 6, -0.75, f"{room:.0f}", fontsize=8.5, va="center")
        axes.set(xlim=(0, 330), ylim=(3.5, -1.1))
        axes.set_xlabel("KiB (line: what there is)")
        axes.grid(visible=False, axis="y")
        axes.set_title(title, fontsize=9.5, loc="left", pad=24)
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(-0.06, 0.98),
            ncols=3,
            fontsize=8,
            frameon=False,
            handlelength=0.9,
            columnspacing=0.7,
            handletextpad=0.4,
        )
    said = ", ".join(
        f"{name} {'fits' if fits(*tile, width) else 'does not fit'}"
        for name, tile in zip(names, TILES, strict=True)
    )
    return StaticFigure.of(
        figure,
        name=f"{CHAPTER}.rooms",
        title="With larger tiles the registers overflow first",
        sentence=f"Queries × keys of a tile, heads of {width}: {said}.",
    )
