"""The chapter's still pictures: goodput, the hour, the day, signals, and the search."""

from __future__ import annotations

import numpy as np

from llmserve_lab.capacity import day, followed, runs
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.trace import MINUTE_S, azure_hour, per_bin
from llmserve_lab.capacity.triangle import (
    LEVEL,
    LOADS,
    TPOTS_S,
    TTFTS_S,
    MeanLengths,
    binding,
    goodput,
    points,
)
from llmserve_lab.checks import key_of
from llmserve_lab.disaggregation.goodput import ENOUGH
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, GREY, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

DEVICE, MODEL = "h100-sxm", "llama-3.1-8b"
STARTS = ((-0.19, runs.SLOW_S, VERMILLION), (0.19, runs.FAST_S, BLUE))


@figure_style()
def kept(demand: MeanLengths = LOADS[0], tpot_s: float = LEVEL.tpot_s) -> StaticFigure:
    """Share of requests that keep each target, and both, against the rate."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.35))
    found = points(MODEL, DEVICE, demand)
    key_of("tpot_s", tpot_s, TPOTS_S)
    i, j = TTFTS_S.index(LEVEL.ttft_s), TPOTS_S.index(tpot_s)
    rates = [each.per_s for each in found]
    lines = {
        f"first token within {si(LEVEL.ttft_s, 's')}": [e.soon[i] for e in found],
        f"TPOT at most {si(tpot_s, 's')}": [e.steady[j] for e in found],
        "both": [e.kept[i][j] for e in found],
    }
    inks, widths = (GREEN, VERMILLION, INK), (5, 5, 1.5)  # both lie on each other
    for (name, shares), ink, width in zip(lines.items(), inks, widths, strict=True):
        dash = "--" if name == "both" else "-"
        (line,) = axes.plot(rates, shares, dash, marker="o", ms=width + 1, label=name)
        line.set(color=ink.light, linewidth=width)
    rate = goodput(found, LEVEL.ttft_s, tpot_s)
    axes.axhline(ENOUGH, color=GREY.light, lw=1)
    axes.axvline(rate, color=GREY.light, lw=1)
    axes.annotate(
        f"goodput {rate:.1f}/s",
        (rate, 0.35),
        (-5, 0),
        textcoords="offset points",
        ha="right",
    )
    axes.annotate("nine in ten", (0, ENOUGH), (2, -12), textcoords="offset points")
    axes.set(xlim=(0, None), ylim=(0, 1.04), xlabel="requests that arrive per second")
    axes.set_ylabel("share of requests in time")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)
    return StaticFigure.of(
        figure,
        sentence=(
            f"Llama-3.1-8B on one H100, simulated, {demand} on average: nine in ten "
            f"requests keep both targets up to {rate:.1f} requests per second."
        ),
        title=f"One target is missed first: here {_binding(demand, tpot_s)}",
        name=f"capacity.kept-{demand.prompt}-{1e3 * tpot_s:.0f}",
    )


def _binding(demand: MeanLengths, tpot_s: float) -> str:
    found = points(MODEL, DEVICE, demand)
    return binding(found, LEVEL.ttft_s, tpot_s).upper()


@figure_style()
def hour() -> StaticFigure:
    """Requests of the Azure hour by minute, as recorded and played faster."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.3))
    rates = per_bin(azure_hour())[:-1] / MINUTE_S  # whole minutes
    most = float(recorded()["hour"]["goodput_per_s"])
    mean = len(azure_hour()) / azure_hour()[-1].arrival_s
    end, times = len(rates), most / mean
    for shown, level, words, ink in (
        (rates, mean, "as recorded", BLUE),
        (times * rates, most, f"{times:.2f} times\nas fast", VERMILLION),
    ):
        axes.stairs(shown, np.arange(end + 1), baseline=None, color=ink.light)
        axes.axhline(level, color=ink.light, ls="--", lw=1)
        axes.annotate(
            f"{words}:\nmean {level:.1f}/s",
            (end, level),
            (4, -10),
            textcoords="offset points",
            color=ink.light,
        )
    axes.set(
        xlabel=f"minute of the recording ({MINUTE_S / times:.0f} s played faster)",
        xlim=(0, end),
    )
    axes.set_ylim(0, 1.05 * times * rates.max())
    axes.set_ylabel("requests per second")
    return StaticFigure.of(
        figure,
        sentence=(
            f"As recorded, {mean:.2f} requests a second arrive on average. One H100 "
            "still keeps the promise for nine in ten at a mean of "
            f"{most:.2f}, with {times * rates.max():.1f} in the busiest minute."
        ),
        title=f"One H100 could take this hour {times:.2f} times as fast",
        name="capacity.hour",
    )


@figure_style()
def whole_day(replica_rate: float) -> StaticFigure:
    """A day's rate, the replicas that stand for its peak, and those of every hour."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.4))
    rates = day.hourly_rates()
    needed = day.replicas(rates, replica_rate)
    hours = np.arange(len(rates) + 1)
    peak = max(needed) * replica_rate
    steps = np.array([*needed, needed[-1]]) * replica_rate
    axes.stairs(
        steps[:-1],
        hours,
        color=GREEN.light,
        lw=5,
        baseline=None,
        label="capacity by the hour",
    )
    axes.axhline(
        peak,
        color=VERMILLION.light,
        lw=1.5,
        label="for the peak",
    )
    fine = np.linspace(0, 24, 97)
    arrivals = [day.rate(hour) for hour in fine]
    axes.plot(fine, arrivals, color=BLUE.light, label="arrivals")
    axes.set(xlim=(0, 24), ylim=(0, 52), xlabel="hour of the day")
    axes.set_xticks(range(0, 25, 4))
    axes.set_ylabel("requests per second")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    flat = [max(needed)] * len(needed)
    mean = [day.rate(hour + 0.5) for hour in range(len(needed))]
    used, better = (day.used(mean, each, replica_rate) for each in (flat, needed))
    return StaticFigure.of(
        figure,
        sentence=(
            f"{max(needed)} replicas all day use {used:.0%} of what is paid for, "
            f"replicas by the hour {better:.0%}."
        ),
        title="Replicas that stand for the peak are hardly used at night",
        name="capacity.day",
    )


@figure_style()
def signals() -> StaticFigure:
    """Requests that miss a target in the burst, by what the autoscaler watches."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.5))
    names = sorted(
        runs.policies(runs.SLOW_S), key=lambda each: runs.scaled_run(each).kept
    )
    for place, name in enumerate(names):
        for down, cold_s, ink in STARTS:
            run = runs.scaled_run(name, cold_s)
            if name.startswith("none") and cold_s == runs.FAST_S:
                continue
            axes.barh(place + down, 1 - run.kept, 0.36, color=ink.light)
            axes.annotate(
                f"{_percent(1 - run.kept)}, {run.gpu_h:.1f} GPU-h",
                (max(1 - run.kept, 1 - ENOUGH), place + down),
                (3, -3),
                textcoords="offset points",
                fontsize=8,
            )
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.axvline(1 - ENOUGH, color=INK.light, lw=1, ls="--")
    axes.annotate(
        f"dashed: promise,\nat most {1 - ENOUGH:.0%}",
        (1.43, len(names) - 1.5),
        ha="right",
        va="center",
        fontsize=8,
    )
    axes.set(xlim=(0, 1.45), xlabel="share of requests that are late")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    for text, ink, at in (
        ("cold start 180 s", VERMILLION, 0),
        ("cold start 30 s", BLUE, 0.5),
    ):
        axes.annotate(text, (at, 1.03), xycoords="axes fraction", color=ink.light)
    best = max(runs.TARGETS, key=lambda each: runs.scaled_run(each).kept)
    slow, fast = (runs.scaled_run(best, each) for each in (runs.SLOW_S, runs.FAST_S))
    stands = runs.scaled_run(names[-1])
    return StaticFigure.of(
        figure,
        sentence=(
            f"The best signal misses {1 - slow.kept:.0%} or {1 - fast.kept:.1%}. "
            "GPU-h: GPU-hours rented in the half hour; "
            f"three that stand take {followed.day_with_burst_h(stands):.0f} in a day."
        ),
        title="With a slow start each of these loops breaks the promise",
        name="capacity.signals",
    )


def _percent(share: float) -> str:
    """A share in percent, with a digit more where it is small."""
    return f"{share:.{int(share < 0.1)}%}"
