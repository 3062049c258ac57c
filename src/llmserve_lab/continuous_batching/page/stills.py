"""The chapter's still pictures: rates of arrival, and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from llmserve_lab.continuous_batching.arrival_rates import RATES, sweep
from llmserve_lab.continuous_batching.lanes import beats
from llmserve_lab.continuous_batching.tuning import Trade
from llmserve_lab.engine import Report
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREY, VERMILLION, Ink
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.running_example import ANSWER

NARROW = 3.9  # inches of a drawing whose words can be read on a phone
INKS = {"static": VERMILLION, "continuous": BLUE}


@figure_style()
def load(found: dict[str, float]) -> StaticFigure:
    """What a server delivers as the rate of arrivals grows, and saturated.

    ``found`` is the throughput by name: static, its wasted rows skipped, refilled.
    """
    from llmserve_lab.extras import pyplot as plt

    shape = {"height_ratios": (1.5, 1.1)}
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(NARROW, 3.4), gridspec_kw=shape
    )
    look: dict[str, Any]
    asked = [per_s * ANSWER for per_s in RATES]
    upper.plot(RATES, asked, color=GREY.light, lw=1, ls="--")
    upper.text(11.2, 2480, "asked for", color=GREY.light, ha="right")
    for name, ink in INKS.items():
        delivered = sweep(name)
        look = {"color": ink.light, "lw": 1.4, "ls": "-", "marker": ".", "ms": 4}
        upper.plot(RATES, delivered, **look)
        look = {"color": ink.light, "ha": "right", "va": "top"}
        upper.text(RATES[-1], 0.87 * delivered[-1], name, **look)
    upper.set(ylabel="output tokens/s", xlabel="requests that arrive each second")
    upper.set(xlim=(0, RATES[-1] + 0.3), ylim=(0, asked[-1]), xticks=range(0, 15, 2))
    upper.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    inks = (VERMILLION, GREY, BLUE)
    for place, (ink, (name, per_s)) in enumerate(zip(inks, found.items(), strict=True)):
        lower.barh(-place, per_s, height=0.36, color=ink.light)
        lower.text(0, -place + 0.21, f"{name}: {per_s:,.0f}", va="bottom")
    lower.set(yticks=[], ylim=(-2.3, 0.75), xlabel="output tokens/s, saturated")
    lower.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    lower.grid(visible=False)
    lower.spines["left"].set_visible(False)
    return StaticFigure.of(
        figure,
        name="continuous_batching.load",
        title="Static batching falls behind early. Refilling its slots pays far more "
        "than skipping its wasted rows",
        sentence=(
            "Above: what each delivers of what is asked for. Below: tokens per second "
            "if requests always wait."
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

    figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(NARROW, 2.55))
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
    upper.text(0.8 * default, 750, "default", ha="right", color=GREY.light)
    lower.text(1.1 * tried, 9.2, "shaded: launches uncertain", color=BLUE.light)
    upper.set(ylabel="gap (ms, log)", xscale="log", yscale="log")
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
        title="A smaller budget makes gaps shorter and first tokens later, except at "
        "the step where recording ends",
        sentence=(
            "Longest gap of the five, TTFT of the long prompt. Line: launches "
            f"recorded up to {tried} rows. Shaded: what launches alone "
            "leave open. How large the step is, is the least certain number here."
        ),
    )


def _marked(ink: Ink = VERMILLION) -> dict[str, Any]:
    """How one budget is marked."""
    return {"color": ink.light, "ms": 7}


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

    figure, axes = plt.subplots(figsize=(4.75, 2.2))
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
