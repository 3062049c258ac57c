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
TILES = ((128, 128), (128, 192), (128, 208), (192, 128), (256, 128), (256, 64))
MORE_KEYS, MORE_QUERIES = TILES[2], TILES[4]  # from the first: what overflows where
KIB = 1024
INKS = (VERMILLION, GREEN, GREY, GOLD, BLUE)  # queries, keys; output, scores, weights


AGAIN = "k and v, many times"
# Top of a kernel's box, its name, and what it reads and writes, with its height.
KERNELS = (
    (8.9, "scores", (("q and k", True), ("scores", False))),
    (6.9, "softmax", (("scores", True), ("weights", False))),
    (4.9, "mixing", (("weights", True), ("v", True), ("output", False))),
    (1.9, "FlashAttention", (("q", True), (AGAIN, True), ("output", False))),
)
WIDTHS = {"scores": 3.2, "weights": 3.2, AGAIN: 1.9}  # of arrows; others are thin
FROM, TO = 2.6, 8.6  # of the arrows


@figure_style()
def fused() -> StaticFigure:
    """HBM, the L2 cache and the chip, with what three kernels and one send through."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.75))
    axes.set(xlim=(-0.1, 12.1), ylim=(-1.0, 10.9))
    axes.axis("off")
    registers, shared, l2, hbm = (_size(i) for i in range(4))
    _box(axes, (0, -0.75, FROM, 9.65), f"HBM\n{hbm}", GREY.light)
    axes.axvspan(3.6, 4.9, 0.022, 0.832, color=GREY.light, alpha=0.18, lw=0)
    axes.text(4.25, 9.9, f"through the\nL2 cache, {l2}", **_centred(8))
    sms = int(float(multiprocessors()))
    chip = f"on chip, in {sms} SMs: shared\nmemory {shared}, registers {registers}"
    axes.text(9.3, 9.9, chip, **_centred(8))
    for top, name, passed in KERNELS:
        ink = (GREEN if "Flash" in name else VERMILLION).light
        high = 0.85 * len(passed)
        _box(axes, (TO, top - high, 12 - TO, high), name, ink)
        for row, (text, read) in enumerate(passed):
            y = top - 0.85 * row - 0.55
            ends = ((FROM, y), (TO, y)) if read else ((TO, y), (FROM, y))
            _arrow(axes, *ends, ink, WIDTHS.get(text, 1.0))
            axes.text(6.75, y + 0.34, text, **_centred(8))
    axes.plot((FROM, 12), (2.36, 2.36), ":", color=GREY.light, lw=0.8)
    return StaticFigure.of(
        figure,
        name=f"{CHAPTER}.fused",
        title="Three kernels send the square through HBM four times, one kernel never",
        sentence=(
            "Thick arrows carry a number for each pair of tokens: scores and weights, "
            "each written and read again. Arrows of middle width pass many times, thin "
            "ones once."
        ),
    )


def _size(index: int) -> str:
    """Size of one level of the GPU's memory, over the whole GPU."""
    return si(float(device().memory_levels[index].bytes), "byte", 2)


def _centred(size: float) -> dict[str, Any]:
    return {"ha": "center", "va": "center", "fontsize": size}


def _box(
    axes: Any, place: tuple[float, float, float, float], text: str, ink: str
) -> None:
    x, y, wide, high = place
    look = {"fill": False, "edgecolor": ink, "linewidth": 1.5}
    axes.add_patch(_rectangle((x, y), wide, high, look))
    axes.text(x + wide / 2, y + high / 2, text.replace(", ", "\n"), **_centred(9))


def _rectangle(at: tuple[float, float], wide: float, high: float, look: Any) -> Any:
    from llmserve_lab.extras import patches

    return patches.Rectangle(at, wide, high, **look)


def _arrow(
    axes: Any, tail: tuple[float, float], tip: tuple[float, float], ink: str, lw: float
) -> None:
    look = {"arrowstyle": "-|>", "color": ink, "linewidth": lw}
    look |= {"shrinkA": 0, "shrinkB": 1}
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
    """Bars of what six tiles take of shared memory and of registers, in KiB."""
    from llmserve_lab.extras import pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(5.2, 2.15), sharey=True)
    width = int(float(heads()["d_head"]))
    names = [f"{rows} × {keys}" for rows, keys in TILES]
    names[0] += " (used)"
    panels = (
        (shared_parts, SHARED_PER_BLOCK, "shared memory", INKS[:2]),
        (register_parts, REGISTERS_PER_SM, "registers", INKS[2:]),
    )
    for axes, (parts, most, title, inks) in zip(both, panels, strict=True):
        left = [0.0] * len(TILES)
        for part, ink in zip(parts(1, 1), inks, strict=True):
            sizes = [parts(*tile)[part] / KIB for tile in TILES]
            axes.barh(names, sizes, left=left, color=ink.light, label=part, height=0.6)
            left = [a + b for a, b in zip(left, sizes, strict=True)]
        room = float(most) / KIB
        for row, size in enumerate(left):
            fit: dict[str, Any] = {"ha": "right", "color": "white", "weight": "bold"}
            at, said, look = size - 5, f"{size:.0f}", fit
            if size > room:
                at, said, look = size + 5, f"{said}: too much", {}
            axes.text(at, row, said, fontsize=7.5, va="center", **look)
        axes.axvline(room, color=INK.light, lw=1.5)
        axes.text(room + 6, -0.75, f"{room:.0f}", fontsize=8.5, va="center")
        axes.set(xlim=(0, 430), ylim=(len(TILES) - 0.5, -1.1))
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
    fitting = [f"{r} × {k}" for r, k in TILES if fits(r, k, width)]
    said = f"{', '.join(fitting[:-1])} and {fitting[-1]} fit"
    return StaticFigure.of(
        figure,
        name=f"{CHAPTER}.rooms",
        title=(
            f"{MORE_KEYS[0]} × {MORE_KEYS[1]} overflows shared memory, "
            f"{MORE_QUERIES[0]} × {MORE_QUERIES[1]} the registers"
        ),
        sentence=(
            f"Queries × keys of a tile, heads of {width}: {said}. Used: by "
            "FlashAttention-3, for a causal mask."
        ),
    )
