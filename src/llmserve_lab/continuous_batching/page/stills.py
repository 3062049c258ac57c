"""The chapter's still pictures: a sweep, one request's times, chunks as chosen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.lanes import beats, pieces
from llmserve_lab.continuous_batching.machine import LONG, decodes, served
from llmserve_lab.continuous_batching.occupancy import frames
from llmserve_lab.continuous_batching.sweep import REQUESTS, RatePoint, asked_per_s
from llmserve_lab.continuous_batching.tuning import Trade
from llmserve_lab.engine import Report
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, GREY, INK, VERMILLION, Ink
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.running_example import setting

SHORT_MS, TO_LEFT = 60, -12  # of a bracket's name: ms on the axis
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
    recorded: Sequence[Trade],
    *,
    target_s: float,
    default: int,
    tried: Sequence[int],
) -> StaticFigure:
    """Longest gap and time to first token of a long prompt against the token budget.

    ``recorded`` are the budgets whose launches an engine may replay, if replaying costs
    no more than for decodes; ``launched`` all budgets with launches one by one. Those
    ``tried`` are marked.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(4.8, 2.8))
    rows = [each.budget for each in launched]
    for axes, name, scale in ((upper, "gap_s", 1e3), (lower, "ttft_s", 1.0)):
        ys = [scale * getattr(each, name) for each in launched]
        axes.plot(rows, ys, "o-", color=BLUE.light, ms=4, label="launched one by one")
        few = [each.budget for each in recorded]
        ys = [scale * getattr(each, name) for each in recorded]
        look: dict[str, Any] = {"color": VERMILLION.light, "ms": 4}
        axes.plot(few, ys, "o--", label="launches replayed, at best", **look)
        axes.axvline(default, color=GREY.light, lw=1, ls=":")
    upper.axhline(1e3 * target_s, color=GREY.light, lw=1, ls="--")
    words: dict[str, Any] = {"color": GREY.light, "va": "bottom"}
    most = crossing(launched, target_s)
    upper.plot([most], [1e3 * target_s], "o", ms=11, mfc="none", color=INK.light)
    says = f"target {si(target_s, 's')}: about {round(most, -2):.0f} rows"
    upper.annotate(
        says, (most, 1e3 * target_s), (7, -13), textcoords="offset points", **words
    )
    lower.text(default * 0.93, 0.6, "vLLM's default", ha="right", **words)
    upper.set(ylabel="gap (ms, log)", xscale="log", yscale="log")
    upper.set_ylim(20, 1200)
    upper.set_yticks([20, 50, 100, 200, 500, 1000])
    candidates = [each for each in launched if each.budget in tried]
    for each in candidates:
        upper.axvline(each.budget, color=GREY.light, lw=1, ls=":")
        lower.axvline(each.budget, color=GREY.light, lw=1, ls=":")
    beside = candidates[-1].budget  # too near the other for a tick
    lower.text(1.04 * beside, 0.6, f"{beside}", **words)
    lower.set(ylabel="TTFT (s)", ylim=(0, 13), yticks=[0, 5, 10])
    lower.set_xlabel("token budget (rows, log)")
    lower.set_xticks([rows[0], candidates[0].budget, 2048, default])
    for axis in (upper.yaxis, lower.xaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
        axis.axes.minorticks_off()
    lower.legend(loc=(0.3, 0.58))
    (largest,) = (each for each in launched if each.budget == default)
    least = launched[0]
    return StaticFigure.of(
        figure,
        name="continuous_batching.budgets",
        title="A smaller budget: shorter gaps, and a later first token",
        sentence=(
            f"Five requests decode while a prompt of {LONG:,} tokens is read. With a "
            f"budget of {default:,} rows the longest gap is {si(largest.gap_s, 's')} "
            f"and the prompt's TTFT {si(largest.ttft_s, 's')}; with {least.budget} "
            f"rows it is {si(least.gap_s, 's')} and {si(least.ttft_s, 's')}, if all "
            "are launched one by one."
        ),
    )


def crossing(found: Sequence[Trade], target_s: float) -> float:
    """The budget at which the longest gap reaches a target, between those served."""
    gaps = [each.gap_s for each in found]
    return float(np.interp(target_s, gaps, [each.budget for each in found]))


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
    figure, axes = plt.subplots(figsize=(4.8, 1.5))
    axes.vlines(
        [1e3 * (t - arrival) for t in ticks], 0, 1, color=VERMILLION.light, lw=1.6
    )
    axes.plot([0], [0.5], ">", color=GREY.light, markersize=9)
    spans = (
        (0, first - arrival, f"TTFT {si(first - arrival, 's')}", 1.35, BLUE),
        (
            first - arrival,
            last - arrival,
            f"ITL: a gap; TPOT: mean, {si(tpot_s, 's')}",
            1.35,
            GREEN,
        ),
        (0, last - arrival, f"E2E latency {si(last - arrival, 's')}", -0.95, GREY),
    )
    for start, end, text, height, ink in spans:
        _span(axes, 1e3 * start, 1e3 * end, text, height, ink)
    axes.set(ylim=(-1.3, 2.4), yticks=[], xlabel="time since the request arrived (ms)")
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    gaps = [b - a for a, b in pairwise(ticks)]
    start = ticks[gaps.index(max(gaps))]
    middle = 1e3 * (start - arrival + max(gaps) / 2)
    axes.text(middle, 0.5, si(max(gaps), "s"), ha="center", va="center")
    return StaticFigure.of(
        figure,
        name="continuous_batching.request",
        title="One request, four numbers",
        sentence=(
            "A request of the book's engine: it arrives at 0, its first token comes "
            f"after {si(first - arrival, 's')}, its last after "
            f"{si(last - arrival, 's')}. "
            f"One of its {len(gaps)} gaps lasts {si(max(gaps), 's')}, because another "
            "prompt was read in between."
        ),
    )


def _span(
    axes: Any, start: float, end: float, text: str, height: float, ink: Ink
) -> None:
    """A bracket with its name above, from its left end on where it is short."""
    short = end - start < SHORT_MS
    look: dict[str, Any] = {"shrinkA": 0, "shrinkB": 0, "color": ink.light}
    look["arrowstyle"] = "|-|, widthA=0.3, widthB=0.3"
    axes.annotate("", (start, height), (end, height), arrowprops=look)
    ha = "left" if short else "center"
    at = start + TO_LEFT if short else (start + end) / 2
    axes.text(at, height + 0.28, text, ha=ha, color=ink.light)


@figure_style()
def chosen(report: Report, target_s: float) -> StaticFigure:
    """Rows that a scheduler under a target gave a prompt, and the closed form."""
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
            f"iterations: chunks of {rows[0]:,} tokens at first, of {rows[-2]:,} in "
            "the last that is full; the closed form runs through the points."
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
