"""Still pictures of time: a layer's parts, deadlines, a trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.checks import positive
from llmserve_lab.moe import exchange_time, layer_time, serving, token_time
from llmserve_lab.page.palette import BLUE, GREEN, GREY, PURPLE, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

SHOWN = (16, 32)
GROUP_LABELS = (  # a group, its ink, where its name stands, and its number
    (16.0, VERMILLION, (40.7, 4350), (25.9, 90, "left")),
    (64.0, BLUE, (43, 2700), (24.3, 2330, "right")),
)
NARROW = 120  # microseconds of a bar that has no room for its name
TRACED = ("attention", "dispatch", "experts", "combine")
TRANSFER = 1.75  # of a sketch without unit
TRACE_INKS = (GREEN, PURPLE, BLUE, PURPLE)


@figure_style()
def timeline() -> StaticFigure:
    """A layer's work and sending, one after the other and in two halves."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(
        len(SHOWN), 1, sharex=True, figsize=(4.75, 2.55), squeeze=True
    )
    said = []
    for axes, ep in zip(panels, SHOWN, strict=True):
        parts = layer_parts(ep)
        half = layer_time.halves_s(ep, serving.ROWS)
        _lanes(axes, parts, half)
        axes.set_title(f"{ep} GPUs", fontsize=9.5, loc="left", fontweight="bold")
        turn, both = sum(parts.values()), round(2e6 * max(half))
        said.append(f"on {ep} GPUs {turn} µs in sequence, {both} µs overlapped")
    panels[-1].set_xlabel("time of one MoE layer (µs)")
    return StaticFigure.of(
        figure,
        name="moe.overlap",
        title=(
            "Overlap hides most of the sending on 32 GPUs, and gains "
            f"{gained(SHOWN[0]):.0%} on 16"
        ),
        sentence=(
            f"DeepSeek-V3, {serving.ROWS:.0f} tokens on each H800: {'; '.join(said)}."
        ),
    )


def gained(ep: float) -> float:
    """Share of a layer's time that two halves save."""
    rows = serving.ROWS
    return 1 - layer_time.overlapped_s(ep, rows) / layer_time.in_turn_s(ep, rows)


def layer_parts(ep: int) -> dict[str, int]:
    """Microseconds of a layer's parts, as they are printed."""
    rows = serving.ROWS
    each = {
        "experts": layer_time.experts_s(ep, rows),
        "rest": layer_time.rest_s(rows),
        "sending": exchange_time.exchange_s(ep),
    }
    return {name: round(1e6 * took) for name, took in each.items()}


def _lanes(axes: Any, parts: dict[str, int], half: tuple[float, float]) -> None:
    """Three lanes of a panel: in sequence, and the GPU and the links, overlapped."""
    inks = {"experts": BLUE, "rest": GREEN, "sending": PURPLE}
    work, sent = (round(1e6 * each, 1) for each in half)
    beat = max(work, sent)
    start = 0.0
    for name, part in parts.items():
        words = f"{name} {part}" if part > NARROW else f"{part}"
        _bar(axes, 2, start, part, inks[name], words)
        start += part
    for lane, took, ink, halves in ((1, work, GREY, "12"), (0, sent, PURPLE, "21")):
        for i, which in enumerate(halves):
            verb = "work on" if lane else "send"
            _bar(axes, lane, i * beat, took, ink, f"{verb} half {which}: {took}")
    both = 2 * beat
    axes.plot([both, both], [-0.45, 1.45], color=GREY.light, lw=1)
    for height, end in ((2.0, start), (0.5, both)):
        axes.text(end + 8, height, f"{end:.0f}", va="center", fontweight="bold")
    axes.set_yticks([2, 1, 0], ["in sequence", "halves: GPU", "halves: links"])
    axes.grid(visible=False)
    axes.set_xlim(0, 760)


def _bar(
    axes: Any, lane: float, start: float, took: float, ink: Any, text: str
) -> None:
    """A bar with its words inside."""
    axes.barh(lane, took, left=start, height=0.9, color=ink.light, edgecolor="white")
    axes.text(
        start + took / 2,
        lane,
        text,
        color="white",
        ha="center",
        va="center",
        fontsize=7.5,
    )


def late() -> float:
    """Time of the published overlapped decode over the model's for it."""
    return token_time.profiled_s() / token_time.predicted_s()["overlapped"]


def written(layer: layer_time.LayerTime, ep: float, due_ms: Any) -> Any:
    """Tokens a second of a GPU with as many requests as each deadline allows.

    Raises:
        ValueError: a deadline is not positive.
    """
    positive("due_ms", np.min(due_ms))
    rows = np.arange(1.0, layer_time.room(ep) + 1)
    took = [1e3 * serving.MOE_LAYERS * layer(ep, float(n)) for n in rows]
    return np.interp(due_ms, took, rows, left=0.0) / (due_ms / 1e3)


@figure_style()
def deadlines() -> StaticFigure:
    """Tokens a second that a GPU of two groups writes, against the time of a token."""
    from llmserve_lab.extras import pyplot as plt

    due = np.arange(10.0, 50.1, 0.5)
    figure, axes = plt.subplots(figsize=(4.75, 2.1))
    for ep, ink, at, (across, up, side) in GROUP_LABELS:
        axes.plot(due, written(layer_time.in_turn_s, ep, due), color=ink.light)
        fast, slow = (
            written(way, ep, due)
            for way in (layer_time.half_start_s, layer_time.double_start_s)
        )
        axes.fill_between(due, slow, fast, color=ink.light, alpha=0.1, lw=0)
        axes.text(at[0], at[1], f"{ep:.0f} GPUs", color=ink.light, fontweight="bold")
        most = layer_time.promised_rows(layer_time.in_turn_s, ep)
        promised = 1e3 * layer_time.PROMISED_S
        axes.plot([promised], [1e3 * most / promised], "o", color=ink.light)
        axes.text(across, up, f"{most} requests", color=ink.light, ha=side)
    for due_s in (layer_time.PROMISED_S, layer_time.LATER_S):
        axes.axvline(1e3 * due_s, color=GREY.light, dashes=(4, 2), lw=1)
        axes.text(1e3 * due_s - 0.4, 4500, f"{1e3 * due_s:.0f} ms", ha="right")
    axes.set_xlabel("deadline of a token (ms)")
    axes.set_xlim(10, 50)
    axes.set_ylim(0, 4900)
    axes.set_ylabel("tokens/s per GPU")
    small, large = (
        layer_time.promised_rows(layer_time.in_turn_s, ep) for ep in (16.0, 64.0)
    )
    return StaticFigure.of(
        figure,
        name="moe.deadlines",
        title="With a tight deadline, a GPU of the large group writes more tokens",
        sentence=(
            "DeepSeek-V3 on H800, without overlap. At "
            f"{1e3 * layer_time.PROMISED_S:.0f} ms a GPU takes {small} requests in a "
            f"group of 16 and {large} in one of 64; at "
            f"{1e3 * layer_time.LATER_S:.0f} ms the two are even. Bands: the constant "
            "of each transfer halved (above) or doubled (below)."
        ),
    )


@figure_style()
def traces() -> StaticFigure:
    """Two GPUs of a group through one layer: what waiting looks like in a trace."""
    from llmserve_lab.extras import pyplot as plt

    figure, panels = plt.subplots(2, 1, sharex=True, figsize=(4.75, 2.1))
    cases = {
        "GPU 1 has overloaded experts: the combine of GPU 0 looks long": (
            (2.0, 2.0),
            (2.0, 4.4),
        ),
        "GPU 1 has long contexts: the dispatch of GPU 0 looks long": (
            (2.0, 4.4),
            (2.0, 2.0),
        ),
    }
    for axes, (title, (attention, experts)) in zip(panels, cases.items(), strict=True):
        for gpu, parts in enumerate(traced(attention, experts)):
            for (start, end), ink, name in zip(parts, TRACE_INKS, TRACED, strict=True):
                waits = ink is PURPLE and end - start > TRANSFER
                words = f"{name}, mostly waiting" if waits else name
                _bar(axes, 1 - gpu, start, end - start, ink, words)
        axes.set_yticks([1, 0], ["GPU 0", "GPU 1"])
        axes.set_xticks([])
        axes.grid(visible=False)
        axes.set_title(title, fontsize=9, loc="left")
    panels[-1].set_xlabel("time")
    return StaticFigure.of(
        figure,
        name="moe.traces",
        title="What looks long on GPU 0 tells why GPU 1 is late",
        sentence=(
            "A sketch of one layer on two GPUs of a group. A transfer ends on every "
            "GPU only after the last one has sent, so waiting is recorded as transfer."
        ),
    )


def traced(
    attention: tuple[float, ...], experts: tuple[float, ...]
) -> list[list[tuple[float, float]]]:
    """Start and end of attention, dispatch, experts and combine on every GPU."""
    there = max(attention) + TRANSFER
    back = there + max(experts) + TRANSFER
    return [
        [(0.0, own), (own, there), (there, there + run), (there + run, back)]
        for own, run in zip(attention, experts, strict=True)
    ]
