"""The chapter's still pictures: a sweep, one request's times, chunks as chosen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.arrival_rates import (
    REQUESTS,
    RatePoint,
    asked_per_s,
)
from llmserve_lab.continuous_batching.lanes import beats, pieces
from llmserve_lab.continuous_batching.machine import LONG, decodes, served
from llmserve_lab.continuous_batching.occupancy import frames
from llmserve_lab.continuous_batching.tuning import Trade
from llmserve_lab.engine import Report
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, GREY, INK, VERMILLION, Ink
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.running_example import setting

FULL_PER_S = 5.0  # requests per second, more than static batching can take
INKS = {"static": VERMILLION, "continuous": BLUE}


@figure_style()
def sweep(
    points: dict[str, Sequence[RatePoint]], most: dict[str, float], slots: int
) -> StaticFigure:
    """Throughput and median TTFT against the rate of arrivals, by scheduler.

    ``most`` is what each scheduler delivers where requests never cease to wait.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(4.8, 3.0))
    last = next(iter(points.values()))[-1].per_s
    each = asked_per_s(last) / last  # tokens that a request asks for, as drawn
    asked = [0, min(last, 1.2 * max(most.values()) / each)]
    band: dict[str, Any] = {"color": GREY.light, "ls": "-", "lw": 6, "alpha": 0.3}
    upper.plot(asked, [each * r for r in asked], **band)
    for name, found in points.items():
        rates = [point.per_s for point in found]
        look: dict[str, Any] = {"color": INKS[name].light}
        upper.plot(rates, [p.tokens_per_s for p in found], **look)
        lower.plot(rates, [p.ttft_s for p in found], **look)
    static, continuous = (most[name] for name in INKS)
    begins = points["continuous"][0]
    (full,) = (p for p in points["static"] if p.per_s == FULL_PER_S)
    _named(upper, "static", (last, static), (-4, -13), f", at most {static:,.0f}")
    most_says = f",\nat most {continuous:,.0f}"
    _named(upper, "continuous", (last, continuous), (-4, -33), most_says)
    _named(lower, "static", (full.per_s, full.ttft_s), (4, -15), left=True)
    _named(lower, "continuous", (begins.per_s, begins.ttft_s), (0, 6), left=True)
    upper.set(ylabel="output tokens/s", xlim=(0, last))
    upper.set_ylim(0, 1.25 * continuous)
    upper.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    lower.set(ylabel="TTFT (s, log)", yscale="log", ylim=(0.01, 1000))
    lower.set_yticks([0.01, 0.1, 1, 10, 100, 1000])
    lower.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    lower.minorticks_off()
    lower.set_xlabel("requests that arrive per second")
    return StaticFigure.of(
        figure,
        name="continuous_batching.sweep",
        title="Static batching saturates early, and then its queue grows without end",
        sentence=(
            f"In {slots} slots static batching saturates at {static:,.0f} tokens/s, "
            f"continuous batching at {continuous:,.0f}. TTFT: median. Grey: the tokens "
            "asked for. From where a line leaves the grey, the queue grows, and with "
            f"it the TTFT, for as long as the run lasts ({REQUESTS:,} requests)."
        ),
    )


@figure_style()
def budgets(
    launched: Sequence[Trade],
    hidden: Sequence[Trade],
    *,
    target_s: float,
    default: int,
    tried: int,
) -> StaticFigure:
    """Longest gap and time to first token of a long prompt against the token budget.

    In ``launched`` every launch is added to the GPU's work, in ``hidden`` none. The
    budget to be ``tried`` is marked.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(4.8, 2.8))
    rows = [each.budget for each in launched]
    for axes, name, scale in ((upper, "gap_s", 1e3), (lower, "ttft_s", 1.0)):
        most, least = (
            [scale * getattr(each, name) for each in found]
            for found in (launched, hidden)
        )
        axes.fill_between(rows, least, most, color=BLUE.light, alpha=0.25, lw=0)
        axes.plot(rows, most, color=BLUE.light)
        axes.plot(rows, least, color=BLUE.light, ls="--")
        axes.plot([tried], [most[rows.index(tried)]], "o", color=VERMILLION.light, ms=7)
        axes.axvline(tried, color=VERMILLION.light, lw=1, ls=":")
    upper.axhline(1e3 * target_s, color=GREY.light, lw=1, ls="--")
    words: dict[str, Any] = {"va": "bottom"}
    upper.text(
        1.3 * tried, 0.72e3 * target_s, f"{tried}: keeps {si(target_s, 's')}",
        color=VERMILLION.light, va="top",
    )  # fmt: skip
    upper.text(default, 1.1e3 * target_s, "target", ha="right", color=GREY.light)
    lower.text(1.9 * tried, 8.1, "launches added", color=BLUE.light, **words)
    lower.text(1.9 * tried, 2.6, "launches hidden", color=BLUE.light, **words)
    lower.text(default, 0.4, "vLLM's default", ha="right", color=GREY.light, **words)
    upper.set(ylabel="gap (ms, log)", xscale="log", yscale="log")
    upper.set_ylim(20, 1200)
    upper.set_yticks([20, 50, 100, 200, 500, 1000])
    lower.set(ylabel="TTFT (s)", ylim=(0, 13), yticks=[0, 5, 10])
    lower.set_xlabel("token budget (rows, log)")
    lower.set_xticks([rows[0], tried, 2048, default])
    for axis in (upper.yaxis, lower.xaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
        axis.axes.minorticks_off()
    (largest,) = (each for each in launched if each.budget == default)
    (chosen_one,) = (each for each in launched if each.budget == tried)
    return StaticFigure.of(
        figure,
        name="continuous_batching.budgets",
        title="A smaller budget buys short gaps with a later first token",
        sentence=(
            f"Five requests decode while a prompt of {LONG:,} tokens is read. Budget "
            f"{default:,}: longest gap {si(largest.gap_s, 's')}, the prompt's TTFT "
            f"{si(largest.ttft_s, 's')}. Budget {tried}: {si(chosen_one.gap_s, 's')} "
            f"and {si(chosen_one.ttft_s, 's')}, with launches added to the GPU's work."
        ),
    )


def _named(
    axes: Any,
    name: str,
    at: tuple[float, float],
    off: tuple[int, int],
    more: str = "",
    *,
    left: bool = False,
) -> None:
    """The name of a line beside it, where no line runs."""
    text, ha = f"{name} batching{more}", "left" if left else "right"
    look: dict[str, Any] = {"ha": ha, "color": INKS[name].light}
    axes.annotate(text, at, off, textcoords="offset points", **look)


@figure_style()
def one_request(report: Report, number: int) -> StaticFigure:
    """The times of one request on one line: arrival, first token, every token after."""
    from llmserve_lab.extras import pyplot as plt

    (i,) = (k for k in range(report.num_requests) if report.id[k] == number)
    arrival, first = float(report.arrival_s[i]), float(report.first_token_s[i])
    last = float(report.last_token_s[i])
    ticks = [f.end_s for f in frames(report) if first <= f.end_s <= last]
    tpot_s = (last - first) / (len(ticks) - 1)
    figure, axes = plt.subplots(figsize=(4.8, 1.7))
    axes.vlines(
        [1e3 * (t - arrival) for t in ticks], 0, 1, color=VERMILLION.light, lw=1.6
    )
    axes.plot([0], [0.5], ">", color=GREY.light, markersize=9)
    gaps = [b - a for a, b in pairwise(ticks)]
    start = ticks[gaps.index(max(gaps))]
    ttft_s, all_s, mean = first - arrival, last - arrival, f"{si(tpot_s, 's')}"
    spans = (
        (0, ttft_s, f"TTFT\n{si(ttft_s, 's')}", 1.35, BLUE),
        (ttft_s, all_s, f"TPOT: mean of {len(gaps)} gaps, {mean}", 1.35, GREEN),
        (start - arrival, start - arrival + max(gaps), _itl(max(gaps)), 0.3, INK),
        (0, all_s, f"E2E latency {si(all_s, 's')}", -0.95, GREY),
    )
    for start, end, text, height, ink in spans:
        _span(axes, 1e3 * start, 1e3 * end, text, height, ink)
    axes.set(ylim=(-1.3, 2.9), yticks=[], xlabel="time since the request arrived (ms)")
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    return StaticFigure.of(
        figure,
        name="continuous_batching.request",
        title="A mean hides one long gap: look at the longest ITL, too",
        sentence=(
            "A request of the book's engine: it arrives at 0, its first token comes "
            f"after {si(first - arrival, 's')}, its last after "
            f"{si(last - arrival, 's')}. "
            f"One of its {len(gaps)} gaps lasts {si(max(gaps), 's')}, because another "
            "prompt was read in between."
        ),
    )


def _itl(gap_s: float) -> str:
    """The name of the longest gap."""
    return f"ITL {si(gap_s, 's')}"


def _span(
    axes: Any, start: float, end: float, text: str, height: float, ink: Ink
) -> None:
    """A bracket with its name above."""
    look: dict[str, Any] = {"shrinkA": 0, "shrinkB": 0, "color": ink.light}
    look["arrowstyle"] = "|-|, widthA=0.3, widthB=0.3"
    axes.annotate("", (start, height), (end, height), arrowprops=look)
    middle = (start + end) / 2
    axes.text(middle, height + 0.28, text, ha="center", color=ink.light)


@figure_style()
def chosen(report: Report, target_s: float, fixed: int) -> StaticFigure:
    """Rows that a scheduler under a target gave a prompt, and the closed form.

    ``fixed`` rows are what a budget that never changes leaves the prompt.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.8, 1.75))
    rows = [beat.rows for beat in pieces(report)]
    prefixes = [sum(rows[:number]) for number in range(len(rows))]
    some = slice(None, None, 8)
    label = "scheduler, one iteration in eight"
    axes.plot(prefixes[some], rows[some], "o", color=VERMILLION.light, label=label)
    dense = np.linspace(0, prefixes[-1], 200)
    held = {"context": dense, "tbt_target": target_s}
    fits = f.SERVED_CHUNK_FITS.at(setting(), decodes(), held, **served())
    axes.plot(dense, fits, color=BLUE.light, label="closed form")
    axes.axhline(fixed, color=GREY.light, ls="--")
    axes.text(0, 1.5 * fixed, f"a fixed budget: {fixed} rows", color=GREY.light)
    axes.set(ylim=(0, None), xlabel="prefix (tokens)", ylabel="chunk (rows)")
    axes.set_xticks([0, 25_000, 50_000, 75_000, 100_000])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.legend()
    return StaticFigure.of(
        figure,
        name="continuous_batching.chosen",
        title="To keep the target, chunks have to shrink as the prompt is read",
        sentence=(
            f"To keep {si(target_s, 's')} the book's engine takes {len(rows)} "
            f"iterations: chunks of {rows[0]:,} rows at first, of {rows[-2]:,} in the "
            f"last that is full. A budget that never changes must stay below all of "
            f"them: {fixed} rows take {-(-LONG // fixed)} iterations."
        ),
    )


def _skyline(shown: Sequence[Any], floor_s: float) -> tuple[list[float], list[float]]:
    """Edges and heights of bars as one line, at the floor where there is no bar."""
    edges, tops = [shown[0].start_s if shown else 0.0], list[float]()
    for beat in shown:
        if beat.start_s > edges[-1]:
            edges.append(beat.start_s)
            tops.append(floor_s)
        edges.append(beat.end_s)
        tops.append(beat.gap_s)
    return edges, tops


@lru_cache(maxsize=1)
@figure_style()
def heartbeat(report: Report, title: str) -> StaticFigure:
    """Every iteration of a run as a bar, as wide as it lasts and as high."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.6, 2.2))
    shown = beats(report)
    floor_s = min(beat.gap_s for beat in shown) / 2
    for riding, ink, label in ((False, BLUE, "decodes"), (True, VERMILLION, "prompts")):
        own = [beat for beat in shown if bool(beat.rows) is riding]
        edges, tops = _skyline(own, floor_s)
        look: dict[str, Any] = {"color": ink.light, "label": label}
        axes.stairs(tops, edges, fill=True, baseline=floor_s, **look)
    axes.set(yscale="log", ylabel="time of the iteration")
    axes.set_xlabel("time since the long prompt arrived (s)")
    axes.yaxis.set_major_formatter(lambda value, _: si(value, "s"))
    axes.minorticks_off()
    axes.legend()
    longest, ttft = float(report.gaps.longest_s), report.percentile("ttft", 50)
    return StaticFigure.of(
        figure,
        sentence=(
            f"{title}: the longest gap between two tokens is {si(longest, 's')}, the "
            f"median time to a first token {si(ttft, 's')}."
        ),
    )
