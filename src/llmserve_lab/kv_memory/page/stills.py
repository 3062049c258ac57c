"""The chapter's still pictures: waste, layers, preemption, routing."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.kv_memory.machine import blocks_with
from llmserve_lab.kv_memory.serving import (
    FEW_BLOCKS,
    FULL_LOAD,
    HOT_RATE,
    LINKS,
    LONG_RUN,
    MAX_BATCH,
    NUM_REQUESTS,
    ROUTINGS,
    SAFE_BATCH,
    WARM,
    WIDE_BATCH,
    Preempted,
    hot_tokens,
    preempted,
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
DRAWN = (
    "llama-3.1-8b", "llama-3.1-70b", "deepseek-v3", "mistral-7b-v0.1", "gemma-3-27b",
    "llama-4-scout", "gpt-oss-120b", "qwen3-next-80b",
)  # fmt: skip
ENOUGH = blocks_with(FULL_LOAD)  # of an H100 with so many slots
NAMES = ["least\nloaded", "affinity by\nassistant", "prefix-\naware"]


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

    figure, axes = plt.subplots(figsize=(4.3, 2.0))
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
            f"{share:.0%}",
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
        title="Reserving the longest leaves most cache empty",
        name="kv-memory.waste",
    )


def rows() -> list[tuple[str, float, float]]:
    """Models, GiB of one long request, and GiB if every layer kept every token."""
    found = [
        (each.name, each.request_bytes(FAR) / GIB, each.naive_token_bytes() * FAR / GIB)
        for each in map(CACHE_LAYERS.__getitem__, DRAWN)
    ]
    return sorted(found, key=lambda row: -row[1])


def _tenth(value: float) -> str:
    """One decimal, halves rounded up."""
    return f"{value + 1e-9:.1f}"


@figure_style()
def layers() -> StaticFigure:
    """GiB of cache of one request, and what a count of all layers would say."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.3, 2.3))
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
        title="Counting all layers overstates windows and states",
        name="kv-memory.layers",
    )


@figure_style()
def routing() -> StaticFigure:
    """Hit rate and time to first token under three routings, all equally popular."""
    from llmserve_lab.extras import pyplot as plt

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(4.3, 1.9), width_ratios=(1, 1.3)
    )
    found = [warm(name) for name in ROUTINGS]
    rows = range(len(found))
    hits = [100 * each.hit_share for each in found]
    left.barh(NAMES, hits, color=GREEN.light, height=0.6)
    for row, value in zip(rows, hits, strict=True):
        look: dict[str, Any] = {"va": "center", "ha": "center", "color": "white"}
        left.text(value / 2, row, f"{value:.0f}%", **look)
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
    left.set(xlim=(0, 105), xticks=(0, 50, 100), xlabel="prompt tokens\nfound (%)")
    right.set_xlabel("time to the first\ntoken (ms)")
    for axes in (left, right):
        axes.invert_yaxis()
        axes.grid(visible=False)
    return StaticFigure.of(
        figure,
        sentence=(
            f"Requests {WARM + 1:,} to {LONG_RUN:,} of one run, all assistants equally "
            f"popular; a replica has {MAX_BATCH} slots. P95: 95 of 100 requests have "
            "their first token sooner than this."
        ),
        title="The replica that knows the prompt answers sooner",
        name="kv-memory.routing",
    )


@figure_style()
def hot() -> StaticFigure:
    """Time of a token for the users of one very popular assistant."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.3, 1.2))
    spent = [1e3 * hot_tokens(name) for name in ROUTINGS]
    axes.barh(list(ROUTINGS), spent, color=VERMILLION.light, height=0.7)
    for row, value in enumerate(spent):
        axes.text(value + 2, row, f"{value:.0f} ms", va="center", color=INK.light)
    axes.set(xlim=(0, 170), xlabel="time of a token, popular assistant (ms)")
    axes.invert_yaxis()
    axes.grid(visible=False)
    return StaticFigure.of(
        figure,
        sentence=(
            f"{HOT_RATE:.0f} requests a second for {NUM_REQUESTS / HOT_RATE:.0f} s, "
            "half of them for one assistant, after a time in which all were equally "
            "popular. Mean time per output token (TPOT) of its answers; a replica has "
            f"{WIDE_BATCH:,} slots."
        ),
        title="Affinity floods the replica of a very popular assistant",
        name="kv-memory.hot",
    )


def returns() -> dict[str, Preempted]:
    """What becomes of the burst, by the way in which requests return or wait."""
    swaps = {f"swap, {link / 1e9:.0f} GB/s": preempted(link) for link in LINKS}
    return swaps | {
        "recompute": preempted(None),
        f"admit {SAFE_BATCH}": preempted(None, max_batch=SAFE_BATCH),
        f"{ENOUGH:,} blocks": preempted(None, kv_blocks=ENOUGH),
    }


@figure_style()
def preemption() -> StaticFigure:
    """When the last answer of a burst is complete, and the longest pause in one."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(4.3, 2.0), sharey=True)
    found = returns()
    inks = [PURPLE] * len(LINKS) + [VERMILLION, GREEN, GREEN]
    sides = {
        "last answer complete (s)": ([each.end_s for each in found.values()], 38),
        "longest pause (s)": ([each.pause_s for each in found.values()], 22),
    }
    for axes, (words, (values, most)) in zip(panels, sides.items(), strict=True):
        axes.barh(list(found), values, color=[ink.light for ink in inks], height=0.7)
        for row, value in enumerate(values):
            look: dict[str, Any] = {"va": "center", "color": INK.light}
            axes.text(value + most / 60, row, f"{value:.1f}", **look)
        axes.set(xlim=(0, most), xlabel=words)
        axes.grid(visible=False)
    panels[0].invert_yaxis()
    return StaticFigure.of(
        figure,
        sentence=(
            f"{FULL_LOAD} requests and {FEW_BLOCKS:,} blocks, but in the last row "
            f"those of a whole H100 that has {FULL_LOAD} slots, not few. "
            "Green: nothing is preempted. In the row before the "
            f"last, at most {SAFE_BATCH} requests run at a time. The pause is between "
            "two tokens of an answer."
        ),
        title="Admitting fewer requests avoids the pauses",
        name="kv-memory.preemption",
    )
