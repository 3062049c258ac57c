"""Still pictures of time: deadlines, a trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.checks import positive
from llmserve_lab.moe import deadline, token_time
from llmserve_lab.page.palette import BLUE, GREEN, GREY, PURPLE, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

GROUP_LABELS = (  # a group, its ink, where its name stands, and its number
    (16.0, VERMILLION, (48.6, 3450), (34, 50, "left")),
    (64.0, BLUE, (50, 2250), (29.3, 1330, "right")),
)
TRACED = ("attention", "dispatch", "experts", "combine")
TRANSFER = 1.75  # of a sketch without unit
TRACE_INKS = (GREEN, PURPLE, BLUE, PURPLE)


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
    return token_time.profiled_s() / token_time.predicted_s()["halves"]


def written(token: deadline.TokenTime, ep: float, due_ms: Any) -> Any:
    """Tokens a second of a GPU with as many requests as each deadline allows.

    Raises:
        ValueError: a deadline is not positive.
    """
    positive("due_ms", np.min(due_ms))
    rows = np.arange(1.0, deadline.room(ep) + 1)
    took = [1e3 * token(ep, float(n)) for n in rows]
    return np.interp(due_ms, took, rows, left=0.0) / (due_ms / 1e3)


@figure_style()
def deadlines() -> StaticFigure:
    """Tokens a second that a GPU of two groups writes, against the time of a token."""
    from llmserve_lab.extras import pyplot as plt

    due = np.arange(20.0, 56.1, 1.0)
    figure, axes = plt.subplots(figsize=(4.75, 2.1))
    for ep, ink, at, (across, up, side) in GROUP_LABELS:
        axes.plot(due, written(deadline.in_turn_s, ep, due), color=ink.light)
        fast, slow = (
            written(way, ep, due)
            for way in (deadline.half_start_s, deadline.double_start_s)
        )
        axes.fill_between(due, slow, fast, color=ink.light, alpha=0.1, lw=0)
        axes.text(at[0], at[1], f"{ep:.0f} GPUs", color=ink.light, fontweight="bold")
        most = deadline.promised_rows(deadline.in_turn_s, ep)
        promised = 1e3 * deadline.PROMISED_S
        axes.plot([promised], [1e3 * most / promised], "o", color=ink.light)
        words = f"{most} request{'s' * (most > 1)}"
        axes.text(across, up, words, color=ink.light, ha=side)
    for due_s in (deadline.PROMISED_S, deadline.LATER_S):
        axes.axvline(1e3 * due_s, color=GREY.light, dashes=(4, 2), lw=1)
        axes.text(1e3 * due_s - 0.4, 3500, f"{1e3 * due_s:.0f} ms", ha="right")
    axes.set_xlabel("deadline of a token (ms)")
    axes.set_xlim(20, 56)
    axes.set_ylim(0, 3900)
    axes.set_ylabel("tokens/s per GPU")
    small, large = (
        deadline.promised_rows(deadline.in_turn_s, ep) for ep in (16.0, 64.0)
    )
    return StaticFigure.of(
        figure,
        name="moe.deadlines",
        title="With a tight deadline, a GPU of the large group writes more tokens",
        sentence=(
            "DeepSeek-V3 on H800, without overlap, the fixed time of kernels included. "
            f"At {1e3 * deadline.PROMISED_S:.0f} ms a GPU takes {small} "
            f"request{'s' * (small > 1)} in a group of 16 and {large} in one of 64; at "
            f"{1e3 * deadline.LATER_S:.0f} ms the two are even. Bands: the constant "
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
