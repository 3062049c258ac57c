"""Two still pictures: a layer in turn and overlapped, and the ports of two nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from llmserve_lab.moe import exchange_time, layer_time, serving, token_time
from llmserve_lab.page.palette import BLUE, GREY, PURPLE, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

SHOWN = (16, 32)
MB = 1e6
PANELS = {"in turn": "in turn", "overlapped": "overlapped: ideal to measured"}
GROUP_LABELS = {  # of each panel: a group, its ink, where its name stands
    "in turn": ((16.0, VERMILLION, (25.5, 190)), (64.0, BLUE, (45, 108))),
    "overlapped": ((16.0, VERMILLION, (42, 90)), (64.0, BLUE, (10.5, 200))),
}


@figure_style()
def timeline() -> StaticFigure:
    """A layer's work and sending, one after the other and in two halves."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(
        len(SHOWN), 1, sharex=True, figsize=(4.6, 2.3), squeeze=True
    )
    said = []
    for axes, ep in zip(panels, SHOWN, strict=True):
        whole = (_work(ep), exchange_time.exchange_s(ep))
        half = layer_time.halves_s(ep, serving.ROWS)
        _lanes(axes, whole, half)
        axes.set_title(f"{ep} GPUs", fontsize=9.5, loc="left")
        turn, both = 1e6 * sum(whole), 2 * round(1e6 * max(half))
        said.append(f"on {ep} GPUs {turn:.0f} µs in turn, {both:.0f} µs overlapped")
    panels[-1].set_xlabel("time of one MoE layer (µs)")
    return StaticFigure.of(
        figure,
        name="moe.overlap",
        title="Overlapped, the longer of working and sending sets the pace",
        sentence=(
            f"DeepSeek-V3, {serving.ROWS:.0f} tokens on each H800, halves 1 and 2: "
            f"{'; '.join(said)}."
        ),
    )


def _work(ep: int) -> float:
    rows = serving.ROWS
    return layer_time.experts_s(ep, rows) + layer_time.rest_s(rows)


def _lanes(axes: Any, whole: tuple[float, float], half: tuple[float, float]) -> None:
    """Three lanes of a panel: in turn, and the GPU and the links, overlapped."""
    work, sent = (1e6 * each for each in whole)
    beat = 1e6 * max(half)
    bars = [
        (2, 0.0, work, BLUE, "work"),
        (2, work, sent, PURPLE, "send"),
        (1, 0.0, 1e6 * half[0], BLUE, "work 1"),
        (1, beat, 1e6 * half[0], BLUE, "work 2"),
        (0, 0.0, 1e6 * half[1], PURPLE, "send 2"),
        (0, beat, 1e6 * half[1], PURPLE, "send 1"),
    ]
    for lane, start, length, ink, text in bars:
        axes.barh(
            lane, length, left=start, height=0.94, color=ink.light, edgecolor="white"
        )
        axes.text(
            start + length / 2,
            lane,
            text,
            color="white",
            ha="center",
            va="center",
            fontsize=7.5,
        )
    axes.set_yticks([2, 1, 0], ["in turn", "halves: GPU", "halves: links"])
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0, 720)


def late() -> float:
    """Time of the published overlapped decode over the model's for it."""
    return token_time.profiled_s() / token_time.predicted_s()["overlapped"]


@figure_style()
def deadlines() -> StaticFigure:
    """Time of a token against a GPU's requests: two groups, in turn and overlapped."""
    from llmserve_lab.extras import pyplot as plt

    rows = np.arange(1.0, layer_time.room(16.0) + 1, 4)
    figure, panels = plt.subplots(1, 2, sharey=True, figsize=(5.6, 2.25))
    ways: dict[str, Callable[[float, float], float]]
    ways = {"in turn": layer_time.in_turn_s, "overlapped": layer_time.overlapped_s}
    for axes, (name, layer) in zip(panels, ways.items(), strict=True):
        for ep, ink, at in GROUP_LABELS[name]:
            took = [1e3 * serving.MOE_LAYERS * layer(ep, each) for each in rows]
            axes.plot(took, rows, color=ink.light)
            if name == "overlapped":
                slow = [late() * each for each in took]
                axes.fill_betweenx(rows, took, slow, color=ink.light, alpha=0.15, lw=0)
            axes.text(*at, f"{ep:.0f} GPUs", color=ink.light, fontweight="bold")
        for due in (layer_time.PROMISED_S, layer_time.LATER_S):
            axes.axvline(1e3 * due, color=GREY.light, dashes=(4, 2), lw=1)
        axes.set_title(PANELS[name], fontsize=9.5)
        axes.set_xlabel("deadline of a token (ms)")
        axes.set_xlim(10, 60)
        axes.set_ylim(0, 240)
    panels[0].set_ylabel("requests of a GPU")
    turn, over = (
        [layer_time.promised_rows(layer, ep) for ep in (16.0, 64.0)]
        for layer in ways.values()
    )
    return StaticFigure.of(
        figure,
        name="moe.deadlines",
        title="A tight deadline favours the large group, with and without overlap",
        sentence=(
            "DeepSeek-V3 on H800, the requests of one GPU whose tokens meet a deadline "
            f"(dashed: {1e3 * layer_time.PROMISED_S:.0f} and "
            f"{1e3 * layer_time.LATER_S:.0f} ms). At the first, groups of 16 and 64 "
            f"take {turn[0]} and {turn[1]} in turn, {over[0]} and {over[1]} with "
            f"ideal overlap. Shaded: up to {late():.1f} times as slow, as "
            "one measured decode."
        ),
    )


@figure_style()
def nodes() -> StaticFigure:
    """A dispatch of one GPU on two nodes: what stays, goes near, and goes far."""
    from llmserve_lab.extras import patches
    from llmserve_lab.extras import pyplot as plt

    out = serving.copy_bytes()["dispatch"] * serving.SPEC.top_k * serving.ROWS / MB
    own, near, far = out / 16, out * 7 / 16, out / 2
    known = serving.setting()
    rates = {name: float(known[name]) / 1e9 for name in ("near_rate", "far_rate")}
    figure, axes = plt.subplots(figsize=(5.6, 2.1))
    for left in (0.0, 6.2):
        box = (left, 0.2), 4.4, 2.3
        axes.add_patch(patches.Rectangle(*box, fill=False, edgecolor=GREY.light))
        for gpu in range(8):
            x, y = left + 0.55 + 1.1 * (gpu % 4), 1.95 - 1.2 * (gpu // 4)
            ink = BLUE if left == 0 and gpu == 3 else GREY
            axes.add_patch(patches.Circle((x, y), 0.26, color=ink.light))
    look = {"arrowstyle": "-|>", "color": PURPLE.light, "lw": 2.0}
    axes.annotate("", (0.8, 0.95), (3.65, 1.75), arrowprops=look)
    axes.annotate("", (6.2, 1.95), (4.15, 1.95), arrowprops=look | {"lw": 3.5})
    axes.text(2.2, 2.62, f"node 1: NVLink, {rates['near_rate']:.0f} GB/s", ha="center")
    axes.text(8.4, 2.62, "node 2", ha="center")
    axes.text(5.3, 2.12, f"{far:.2f} MB", ha="center", fontweight="bold")
    axes.text(5.3, 1.2, f"InfiniBand\n{rates['far_rate']:.0f} GB/s", ha="center")
    words = f"{own:.2f} MB stay, {near:.2f} MB go to the seven others"
    axes.text(-0.05, 0.05, words, va="top", fontweight="bold")
    axes.set(xlim=(-0.1, 10.7), ylim=(-0.35, 3.0))
    axes.axis("off")
    return StaticFigure.of(
        figure,
        name="moe.nodes",
        title="Half of the copies leave through the slower port",
        sentence=(
            f"One H800 of 16 dispatches {serving.ROWS:.0f} tokens: {far:.2f} MB at "
            f"{rates['far_rate']:.0f} GB/s take {1e3 * far / rates['far_rate']:.1f} "
            "µs, "
            f"{near:.2f} MB at {rates['near_rate']:.0f} GB/s take "
            f"{1e3 * near / rates['near_rate']:.1f} µs at the same time."
        ),
    )
