"""The chapter's still pictures: waste, layers, preemption, routing."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.catalog.data.links import PCIE5
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.kv_memory.machine import num_blocks, room
from llmserve_lab.kv_memory.serving import (
    FEW_BLOCKS,
    HOT,
    HOT_RATE,
    LINKS,
    LONG_RUN,
    NUM_REQUESTS,
    ROUTINGS,
    WARM,
    preempted,
    routed,
    warm,
)
from llmserve_lab.kv_memory.waste import LIMIT, SERVICES, wasted
from llmserve_lab.page.palette import (
    GOLD,
    GREEN,
    GREY,
    GRID,
    INK,
    PURPLE,
    VERMILLION,
)
from llmserve_lab.page.still import StaticFigure, figure_style

BLOCK = 16
FAR = 32_768  # tokens of the request whose cache is compared
GIB = float(1 << 30)


PARTS = {"holds a token": GREEN, "answer not yet written": GOLD, "never used": GRID}


def shares(service: str) -> dict[str, float]:
    """Share of what is set aside that holds a token, by the way of setting aside."""
    return {way: held for way, (held, _) in parts(service).items()}


def parts(service: str) -> dict[str, tuple[float, float]]:
    """Share that holds a token, and share that will, by the way of setting aside."""
    found = wasted(service)
    ways = {
        f"reserved: {LIMIT:,} tokens": (found.contiguous, found.final),
        "reserved: power of two": (found.powers, found.final),
        f"paged: blocks of {max(found.paged)}": (found.paged[256], found.used),
        f"paged: blocks of {BLOCK}": (found.paged[BLOCK], found.used),
    }
    return {
        way: (found.used / aside, (in_the_end - found.used) / aside)
        for way, (aside, in_the_end) in ways.items()
    }


@figure_style()
def waste() -> StaticFigure:
    """Bars of what is set aside in three parts, a bar a way, conversation service."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.3, 2.3))
    found = parts(SERVICES[0])
    names = list(found)
    used, later = (np.array(each) for each in zip(*found.values(), strict=True))
    left = np.zeros(len(names))
    for size, (part, ink) in zip(
        (used, later, 1 - used - later), PARTS.items(), strict=True
    ):
        axes.barh(names, size, left=left, color=ink.light, label=part)
        left = left + size
    for row, share in enumerate(used):
        inside = share > 0.3
        axes.text(
            share - 0.02 if inside else share + later[row] + 0.02,
            row,
            f"{share:.1%}" if share > 0.95 else f"{share:.0%}",
            ha="right" if inside else "left",
            va="center",
            color="white" if inside else INK.light,
        )
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set(xlim=(0, 1))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("share of the memory set aside")
    look: dict[str, Any] = {"handlelength": 1, "columnspacing": 1, "ncols": 3}
    figure.legend(loc="outside upper right", **look, fontsize=8.5)
    return StaticFigure.of(
        figure,
        sentence=(
            "The memory set aside, at random moments while answers are written: "
            "prompts and answers of the chat service. Number: share that holds "
            "a token."
        ),
        title="Reserving for the longest leaves most of the cache empty",
        name="kv-memory.waste",
    )


def rows() -> list[tuple[str, float, float]]:
    """Models, GiB of one long request, and GiB if every layer kept every token."""
    found = [
        (each.name, each.request_bytes(FAR) / GIB, each.naive_token_bytes() * FAR / GIB)
        for each in CACHE_LAYERS.values()
        if each.shape is None or (each.shape.max_context or 0) >= FAR
    ]
    return sorted(found, key=lambda row: -row[1])


def _tenth(value: float) -> str:
    """One decimal, halves rounded up."""
    return f"{value + 1e-9:.1f}"


@figure_style()
def layers() -> StaticFigure:
    """GiB of cache of one request, and what a count of all layers would say."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.3, 3.1))
    names = [name for name, _, _ in rows()]
    kept = [here for _, here, _ in rows()]
    naive = [most for _, _, most in rows()]
    axes.barh(names, naive, color=GRID.light, label="if every layer kept every token")
    axes.barh(names, kept, color=GREEN.light, label="what the layers keep")
    for row, (here, most) in enumerate(zip(kept, naive, strict=True)):
        more = f" of {_tenth(most)}" if most > 1.01 * here else ""
        where = max(here, most) + 0.2
        look: dict[str, Any] = {"va": "center", "color": INK.light}
        axes.text(where, row, f"{_tenth(here)}{more}", **look)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set(xlim=(0, 19.5), xticks=(0, 5, 10, 15))
    axes.set_xlabel(f"GiB of one request of {FAR:,} tokens")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
    return StaticFigure.of(
        figure,
        sentence=(
            "Counted from the shapes of the layers: the least that a server can use. "
            "Where no gray is seen, all layers keep all tokens (latent attention, too, "
            "in fewer bytes)."
        ),
        title="Counting every layer overstates models with windows or states",
        name="kv-memory.layers",
    )


@figure_style()
def routing() -> StaticFigure:
    """Hit rate and time to first token under three routings; then one hot assistant."""
    from llmserve_lab.extras import pyplot as plt

    figure, at_place = plt.subplot_mosaic(
        [["left", "right"], ["below", "below"]],
        figsize=(4.3, 3.2),
        width_ratios=(1, 1.5),
        height_ratios=(1.7, 1),
    )
    left, right, hot = (at_place[each] for each in ("left", "right", "below"))
    names = ["least\nloaded", "affinity by\nassistant", "prefix-\naware"]
    found = [warm(name) for name in ROUTINGS]
    rows = range(len(found))
    hits = [100 * each.hit_share for each in found]
    left.barh(names, hits, color=GREEN.light, height=0.6)
    for row, value in zip(rows, hits, strict=True):
        look: dict[str, Any] = {"va": "center", "ha": "center", "color": "white"}
        left.text(value / 2, row, f"{value:.0f} %", **look)
    stats = {
        "mean": ([each.ttft_mean_s for each in found], GREY.light),
        "P95": ([each.ttft_p95_s for each in found], VERMILLION.light),
    }
    for place, (part, (values, ink)) in enumerate(stats.items()):
        at = [row + 0.36 * (place - 0.5) for row in rows]
        right.barh(at, [1e3 * v for v in values], height=0.32, color=ink)
        for y, value in zip(at, values, strict=True):
            look = {"va": "center", "color": INK.light}
            right.text(1e3 * value + 6, y, f"{1e3 * value:.0f} {part}", **look)
    right.set(xlim=(0, 340), yticks=[], xticks=(0, 100, 200, 300))
    left.set(xlim=(0, 125), xticks=(0, 50, 100), xlabel="prompt tokens\nfound (%)")
    right.set_xlabel("time to the first\ntoken (ms)")
    late = [routed(name, rate=HOT_RATE, hot=HOT).ttft_p95_s for name in ROUTINGS]
    hot.barh(list(ROUTINGS), late, color=VERMILLION.light, height=0.7)
    for row, value in enumerate(late):
        words = f"{value:.0f} s" if value > 1 else f"{value:.2f} s"
        hot.text(value + 0.3, row, words, va="center", color=INK.light)
    hot.set(xlim=(0, 22), xlabel="P95 with one very popular assistant (s)")
    for axes in (left, right, hot):
        axes.invert_yaxis()
        axes.grid(visible=False)
    return StaticFigure.of(
        figure,
        sentence=(
            f"Above: requests {WARM + 1:,} to {LONG_RUN:,} of one run, all assistants "
            f"equally popular. Below: {HOT_RATE:.0f} requests a second for "
            f"{NUM_REQUESTS / HOT_RATE:.0f} s, half of them for one assistant. P95: 95 "
            "of 100 requests have their first token sooner than this."
        ),
        title="The replica that knows the prompt answers sooner, unless it is flooded",
        name="kv-memory.routing",
    )


@figure_style()
def preemption() -> StaticFigure:
    """When the last answer of a burst is complete, against the link to the host."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.3, 2.35))
    swapped = [preempted(link).end_s for link in LINKS]
    axes.plot([link / 1e9 for link in LINKS], swapped, color=PURPLE.light)
    axes.text(3.1, swapped[1] + 0.5, "swapping", color=PURPLE.light)
    redo, ample = (
        preempted(None).end_s,
        preempted(None, kv_blocks=num_blocks()).end_s,
    )
    lines = {
        f"recomputation: {redo:.1f} s": (redo, VERMILLION, 1),
        f"all {num_blocks():,} blocks: {ample:.1f} s": (
            ample,
            GREEN,
            -1,
        ),
    }
    for text, (value, ink, side) in lines.items():
        axes.axhline(value, color=ink.light, linestyle=ink.dash and (0, ink.dash))
        look: dict[str, Any] = {
            "va": "bottom" if side > 0 else "top",
            "color": ink.light,
        }
        left = side < 0  # below the curve there is room at the left
        place: dict[str, Any] = {"x": 2.1 if left else 60}
        place["ha"] = "left" if left else "right"
        axes.text(y=value + (0.4 if side > 0 else -0.9), s=text, **place, **look)
    even, pcie = float(f.SWAP_BW.at(room())), float(PCIE5.bandwidth)
    marks = {f"formula:\n{even / 1e9:.1f} GB/s": even, "PCIe 5\nx16": pcie}
    for text, value in marks.items():
        axes.axvline(value / 1e9, color=GREY.light, linewidth=0.8, linestyle=":")
        look = {"ha": "right", "va": "top", "color": GREY.light}
        axes.text(value / 1e9 * 0.96, 10, text, **look)
    axes.set(xscale="log", xlim=(1.9, 70), ylim=(0, 31), ylabel="last answer (s)")
    axes.set_xlabel("link to the host, each way (GB/s, log)")
    axes.set_xticks([2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
    axes.set_yticks([0, 10, 20, 30])
    axes.minorticks_off()
    axes.grid(visible=False)
    return StaticFigure.of(
        figure,
        sentence=(
            f"The last answer, with {FEW_BLOCKS:,} blocks and (lowest line) with "
            f"all {num_blocks():,}, without preemption. Dotted: where the formula "
            "calls both ways equal, and PCIe 5 x16, the link from a GPU to its host."
        ),
        title="A fast link makes swapping win a little, a larger cache far more",
        name="kv-memory.preemption",
    )
