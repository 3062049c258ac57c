"""The chapter's still pictures: a sweep, one request's times, chunks as chosen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.lanes import beats, pieces, ttft_s
from llmserve_lab.continuous_batching.machine import LONG, decodes, served
from llmserve_lab.continuous_batching.occupancy import frames
from llmserve_lab.continuous_batching.sweep import RatePoint, asked_per_s, queue
from llmserve_lab.continuous_batching.tuning import Trade
from llmserve_lab.engine import Report
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, GREY, INK, VERMILLION, Ink
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.running_example import setting

NARROW = 3.9  # inches of a drawing whose words can be read on a phone
QUEUED = (3.0, 5.0)  # requests per second: what both can take, and what one cannot
QUEUED_S = 300.0  # of the run that is shown
INKS = {"static": VERMILLION, "continuous": BLUE}


@figure_style()
def sweep(
    points: dict[str, Sequence[RatePoint]], most: dict[str, float], slots: int
) -> StaticFigure:
    """Throughput against the rate of arrivals, and the queue over time, by scheduler.

    ``most`` is what each scheduler delivers where requests never cease to wait.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, (upper, lower) = plt.subplots(2, 1, figsize=(NARROW, 3.9))
    last = next(iter(points.values()))[-1].per_s
    each = asked_per_s(last) / last  # tokens that a request asks for, as drawn
    asked = [0, min(last, 1.2 * max(most.values()) / each)]
    band: dict[str, Any] = {"color": GREY.light, "ls": "-", "lw": 6, "alpha": 0.3}
    upper.plot(asked, [each * r for r in asked], **band)
    for name, found in points.items():
        rates = [point.per_s for point in found]
        upper.plot(rates, [p.tokens_per_s for p in found], color=INKS[name].light)
    static, continuous = (most[name] for name in INKS)
    _named(upper, "static", (last, static), (0, -14), f", at most {static:,.0f}")
    _named(upper, "continuous", (last, continuous), (0, 6))
    upper.text(6.2, 1000, "asked for", color=GREY.light)
    upper.set(ylabel="output tokens/s", xlim=(0, last), ylim=(0, 1.3 * continuous))
    upper.set_xlabel("requests that arrive per second")
    for name in INKS:
        for per_s in QUEUED:
            times, waiting = queue(name, per_s, QUEUED_S)
            lower.plot(times, waiting, color=INKS[name].light, ls="-")
    longest = max(queue("static", QUEUED[-1], QUEUED_S)[1])
    look: dict[str, Any] = {"color": INKS["static"].light, "ha": "right"}
    lower.text(190, 0.72 * longest, f"static, {QUEUED[1]:g} per second", **look)
    look["ha"] = "left"
    lower.text(150, 0.2 * longest, f"static, {QUEUED[0]:g} per second", **look)
    look["color"] = INKS["continuous"].light
    lower.text(4, -0.17 * longest, "continuous: none waits at either", **look)
    lower.set(ylabel="requests that wait", xlim=(0, QUEUED_S))
    lower.set_ylim(-0.24 * longest, 1.05 * longest)
    lower.set_yticks([0, 100, 200, 300])
    lower.set_xlabel("time (s)")
    upper.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    return StaticFigure.of(
        figure,
        name="continuous_batching.sweep",
        title="Static batching saturates early, and then its queue grows without end",
        sentence=(
            f"In {slots} slots static batching saturates at {static:,.0f} tokens/s, "
            f"continuous batching at {continuous:,.0f}. Where a line leaves the grey "
            f"one, more is asked for than delivered. Below: the queue at {QUEUED[0]:g} "
            f"and at {QUEUED[1]:g} requests a second."
        ),
    )


@figure_style()
def causes(found: dict[str, float]) -> StaticFigure:
    """Saturated throughput: static, its wasted rows skipped, its slots refilled."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(NARROW, 1.5))
    inks = (VERMILLION, GREY, BLUE)
    for place, (ink, (name, per_s)) in enumerate(
        zip(inks, found.items(), strict=True)
    ):
        axes.barh(-place, per_s, height=0.42, color=ink.light)
        axes.text(0, -place + 0.3, f"{name}: {per_s:,.0f}", va="bottom")
    axes.set(yticks=[], ylim=(-2.4, 0.9), xlabel="output tokens/s, saturated")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.spines["left"].set_visible(False)
    least, skipped, most = found.values()
    return StaticFigure.of(
        figure,
        name="continuous_batching.causes",
        title="What pays is refilling the slots, not skipping the wasted rows",
        sentence=(
            f"A static server that computes no wasted row delivers {skipped:,.0f} "
            f"tokens/s instead of {least:,.0f}. If a free slot is refilled at once, it "
            f"is {most:,.0f}."
        ),
    )


@figure_style()
def price(budget: int, found: dict[str, dict[str, float]]) -> StaticFigure:
    """What a token budget adds to the long prompt's TTFT, part by part.

    ``found`` has the parts by how the launches are counted.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(NARROW, 2.05))
    inks = {"weights": BLUE, "cache": GREEN, "decodes": GREY, "launches": VERMILLION}
    totals = {name: sum(parts.values()) for name, parts in found.items()}
    for place, (name, parts) in enumerate(found.items()):
        left = 0.0
        for part, ink in inks.items():
            axes.barh(-place, parts[part], left=left, height=0.4, color=ink.light)
            if place == 1:
                middle = left + parts[part] / 2
                if part != "decodes":
                    axes.text(
                        middle, -place - 0.24, part, ha="center", va="top",
                        color=ink.light,
                    )  # fmt: skip
            left += parts[part]
        axes.text(0, -place + 0.26, f"{name}: {totals[name]:.2f} s", va="bottom")
    axes.set(yticks=[], ylim=(-2.35, 0.85), xlim=(0, 2.75))
    axes.set_xlabel("seconds more than in one piece")
    axes.spines["left"].set_visible(False)
    _, counted, most = totals.values()
    assumed = found[list(found)[1]]["launches"]
    return StaticFigure.of(
        figure,
        name="continuous_batching.price",
        title="Reading again costs a second; the rest depends on the launches",
        sentence=(
            f"A budget of {budget} rows delays the long prompt's first token by "
            f"{counted:.2f} s, of which {assumed:.2f} s are launches. If each program "
            f"were launched by itself, it would be {most:.2f} s. Grey: the rows of the "
            "decodes."
        ),
    )


@figure_style()
def budgets(
    counted: Sequence[Trade],
    added: Sequence[Trade],
    hidden: Sequence[Trade],
    *,
    target_s: float,
    default: int,
    tried: int,
) -> StaticFigure:
    """Longest gap and time to first token of a long prompt against the token budget.

    In ``added`` every launch is added to the GPU's work, in ``hidden`` none; what is
    ``counted`` steps between where launches are recorded and where they are not. The
    budget to be ``tried`` is marked.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(NARROW, 3.9))
    rows = [each.budget for each in counted]
    small = [each for each in counted if each.budget <= tried]
    large = [each for each in added if each.budget > tried]
    for axes, name, scale in ((upper, "gap_s", 1e3), (lower, "ttft_s", 1.0)):
        most, least = (
            [scale * getattr(each, name) for each in found] for found in (added, hidden)
        )
        axes.fill_between(rows, least, most, color=BLUE.light, alpha=0.2, lw=0)
        for part in (small, large):
            drawn = [scale * getattr(each, name) for each in part]
            axes.plot([each.budget for each in part], drawn, color=BLUE.light, ls="-")
        axes.plot([tried], [scale * getattr(small[-1], name)], "o", **_marked())
        axes.plot([default], [scale * getattr(large[-1], name)], "s", **_marked(GREY))
    upper.axhline(1e3 * target_s, color=GREY.light, lw=1, ls="--")
    upper.text(rows[0], 1.1e3 * target_s, "target", color=GREY.light)
    upper.text(1.15 * tried, 40, f"{tried}", color=VERMILLION.light)
    upper.text(default, 460, "default", ha="right", color=GREY.light)
    lower.text(1.1 * tried, 8.0, "each launch by itself", color=BLUE.light)
    lower.text(2.6 * tried, 4.2, "all hidden", color=BLUE.light)
    lower.text(rows[0], 5.4, "recorded", color=BLUE.light)
    upper.set(ylabel="longest gap (ms, log)", xscale="log", yscale="log")
    upper.set_ylim(25, 1300)
    upper.set_yticks([50, 100, 200, 500, 1000])
    lower.set(ylabel="TTFT (s)", ylim=(0, 12), yticks=[0, 5, 10])
    lower.set_xlabel("token budget (rows, log)")
    lower.set_xticks([rows[0], tried, 2048, default])
    for axis in (upper.yaxis, lower.xaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,g}")
        axis.axes.minorticks_off()
    return StaticFigure.of(
        figure,
        name="continuous_batching.budgets",
        title="A smaller budget buys short gaps with a later first token",
        sentence=(
            f"Five requests decode while a prompt of {LONG:,} tokens is read. Line: "
            f"launches recorded up to {tried} rows, each by itself above. Band: from "
            f"all hidden to each by itself. Budget {default:,}: longest gap "
            f"{si(large[-1].gap_s, 's')}, TTFT {si(large[-1].ttft_s, 's', 2)}. Budget "
            f"{tried}: {si(small[-1].gap_s, 's', 2)} and {si(small[-1].ttft_s, 's', 2)}."
        ),
    )


def _marked(ink: Ink = VERMILLION) -> dict[str, Any]:
    """How one budget is marked."""
    return {"color": ink.light, "ms": 7}


def _named(
    axes: Any, name: str, at: tuple[float, float], off: tuple[int, int], more: str = ""
) -> None:
    """The name of a line beside its right end, where no line runs."""
    look: dict[str, Any] = {"ha": "right", "color": INKS[name].light}
    axes.annotate(f"{name} batching{more}", at, off, textcoords="offset points", **look)


@figure_style()
def one_request(report: Report, number: int) -> StaticFigure:
    """The times of one request on one line: arrival, first token, every token after."""
    from llmserve_lab.extras import pyplot as plt

    (i,) = (k for k in range(report.num_requests) if report.id[k] == number)
    arrival, first = float(report.arrival_s[i]), float(report.first_token_s[i])
    last = float(report.last_token_s[i])
    ticks = [f.end_s for f in frames(report) if first <= f.end_s <= last]
    tpot_s = (last - first) / (len(ticks) - 1)
    figure, axes = plt.subplots(figsize=(4.3, 1.8))
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
def chosen(report: Report, target_s: float, fixed: Report) -> StaticFigure:
    """Rows that a scheduler under a target gave a prompt, beside the closed form.

    In ``fixed`` each iteration has as many rows as keep the same target to the end.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(NARROW, 2.1))
    rows = [beat.rows for beat in pieces(report)]
    same = [beat.rows for beat in pieces(fixed)]
    prefixes = [sum(rows[:number]) for number in range(len(rows))]
    some = slice(None, None, 8)
    axes.plot(prefixes[some], rows[some], "o", color=VERMILLION.light)
    dense = np.linspace(0, prefixes[-1], 200)
    held = {"context": dense, "tbt_target": target_s}
    fits = f.SERVED_CHUNK_FITS.at(setting(), decodes(), held, **served())
    axes.plot(dense, fits, color=BLUE.light)
    axes.axhline(same[0], color=GREY.light, ls="--")
    more = f"shrinking chunk:\n{len(rows)} iterations"
    axes.text(21_000, 2500, more, color=VERMILLION.light)
    less = f"fixed chunk: {len(same)} iterations"
    axes.text(0, 0.45 * same[0], less, color=GREY.light, va="center")
    axes.set(ylim=(0, 4300), xlabel="prefix (tokens)", ylabel="chunk (rows)")
    axes.set_xticks([0, 50_000, 100_000])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    return StaticFigure.of(
        figure,
        name="continuous_batching.chosen",
        title="To keep the target, chunks have to shrink as the prompt is read",
        sentence=(
            f"Both keep {si(target_s, 's')} to the end of the long prompt. A chunk "
            f"that shrinks from {rows[0]:,} rows reads it in {len(rows)} iterations and "
            f"{si(ttft_s(report), 's', 2)}, one of always {same[0]:,} rows in "
            f"{len(same)} and {si(ttft_s(fixed), 's', 2)}. Dots: every eighth iteration "
            "of the engine; line: the formula below."
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
