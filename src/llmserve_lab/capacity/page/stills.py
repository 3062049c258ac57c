"""The chapter's still pictures: goodput, the hour, the day, signals, and the search."""

from __future__ import annotations

from collections import Counter

import numpy as np

from llmserve_lab.capacity import day, runs
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.search import GOOD, Fate
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
from llmserve_lab.page.palette import BLUE, GREEN, GREY, INK, PURPLE, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

DEVICE, MODEL = "h100-sxm", "llama-3.1-8b"
STARTS = ((-0.19, runs.SLOW_S, VERMILLION), (0.19, runs.FAST_S, BLUE))
TICKS = (5, 20, 100, 500)


@figure_style()
def kept(demand: MeanLengths = LOADS[0], tpot_s: float = LEVEL.tpot_s) -> StaticFigure:
    """Share of requests that keep each target, and both, against the rate."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.55))
    found = points(MODEL, DEVICE, demand)
    key_of("tpot_s", tpot_s, TPOTS_S)
    i, j = TTFTS_S.index(LEVEL.ttft_s), TPOTS_S.index(tpot_s)
    rates = [each.per_s for each in found]
    lines = {
        f"first token within {si(LEVEL.ttft_s, 's')}": [e.soon[i] for e in found],
        f"TPOT at most {si(tpot_s, 's')}": [e.steady[j] for e in found],
        "both": [e.kept[i][j] for e in found],
    }
    inks, widths = (GREEN, VERMILLION, INK), (1.5, 5, 1.5)  # both lie on each other
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
        title=f"One target gives in first: here {_binding(demand, tpot_s)}",
        name=f"capacity.kept-{demand.prompt}-{1e3 * tpot_s:.0f}",
    )


def _binding(demand: MeanLengths, tpot_s: float) -> str:
    found = points(MODEL, DEVICE, demand)
    return binding(found, LEVEL.ttft_s, tpot_s).upper()


@figure_style()
def hour() -> StaticFigure:
    """Requests of the Azure hour by minute, its mean, and the mean at the goodput."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.3))
    rates = per_bin(azure_hour()) / MINUTE_S
    most = float(recorded()["hour"]["goodput_per_s"])
    axes.step(np.arange(len(rates)), rates, where="mid", color=BLUE.light)
    mean = len(azure_hour()) / azure_hour()[-1].arrival_s
    end = len(rates)
    axes.axhline(mean, color=BLUE.light, ls="--")
    axes.axhline(most, color=VERMILLION.light)
    for said, at, shift, ink in (
        (f"mean of\nthis hour:\n{mean:.1f}/s", (end, mean), (4, -8), BLUE),
        (
            f"mean at which nine in ten are in time: {most:.1f}/s",
            (0, most),
            (2, 4),
            VERMILLION,
        ),
    ):
        axes.annotate(said, at, shift, textcoords="offset points", color=ink.light)
    axes.set(xlabel="minute of the hour", ylim=(0, 1.2 * most), xlim=(0, end))
    axes.set_ylabel("requests per second")
    return StaticFigure.of(
        figure,
        sentence=(
            f"On average {mean:.2f} requests a second arrive; one H100 could serve "
            f"{most:.2f} of such requests in time."
        ),
        title=f"One H100 could take this hour {most / mean:.1f} times as fast",
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
    steps = np.array([*needed, needed[-1]]) * replica_rate
    axes.stairs(
        steps[:-1],
        hours,
        color=GREEN.light,
        lw=2,
        baseline=None,
        label="by the hour",
    )
    axes.axhline(
        max(needed) * replica_rate, color=VERMILLION.light, lw=2, label="for the peak"
    )
    fine = np.linspace(0, 24, 97)
    load = [day.rate(hour) for hour in fine]
    axes.plot(fine, load, color=BLUE.light, label="arrivals")
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
        title="Replicas that stand for the peak are idle at night",
        name="capacity.day",
    )


@figure_style()
def signals() -> StaticFigure:
    """Requests that miss a target in the burst, by what the autoscaler watches."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 3.0))
    names = list(runs.policies(runs.SLOW_S))
    for place, name in enumerate(names):
        for down, cold_s, ink in STARTS:
            run = runs.scaled_run(name, cold_s)
            if name.startswith("none") and cold_s == runs.FAST_S:
                continue
            axes.barh(place + down, 1 - run.kept, 0.36, color=ink.light)
            axes.annotate(
                f"{1 - run.kept:.0%}, {run.gpu_h:.1f} GPU-h",
                (1 - run.kept, place + down),
                (3, -3),
                textcoords="offset points",
                fontsize=8,
            )
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set(xlim=(0, 1.6), xlabel="share of requests that miss a target")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    for text, ink, x in (("cold start 180 s", VERMILLION, 0.5), ("30 s", BLUE, 0.75)):
        axes.annotate(
            text, (x, 1.02), xycoords="axes fraction", color=ink.light, ha="right"
        )
    slow = runs.scaled_run(names[0], runs.SLOW_S)
    return StaticFigure.of(
        figure,
        sentence=(
            f"Watching {names[0]}, {1 - slow.kept:.0%} of the requests miss a target "
            f"with a cold start of {runs.SLOW_S:.0f} s."
        ),
        title="With a slow start every signal comes too late",
        name="capacity.signals",
    )


@figure_style()
def fates() -> StaticFigure:
    """Candidates by price, one dot each, by what became of them in the search."""
    from llmserve_lab.extras import pyplot as plt

    found = runs.searched()
    groups: dict[str, tuple[Fate, ...]] = {
        "ruled out without a run": ("does not fit", "too much work"),
        "fewer replicas than one that fails": ("more replicas failed",),
        "run until it had failed for certain": ("stopped: fails", "fails"),
        "run until it had kept the level": GOOD,
        "not cheaper than one that keeps it": ("cannot be cheaper",),
    }
    inks = (PURPLE, GREY, VERMILLION, BLUE, GREEN)
    figure, axes = plt.subplots(figsize=(4.7, 2.3))
    for place, ((_, kinds), ink) in enumerate(zip(groups.items(), inks, strict=True)):
        seen: Counter[float] = Counter()
        places = []
        for each, fate in found.fates.items():
            if fate in kinds:
                price = each.dollars_per_hour()
                seen[price] += 1
                places.append((price, place - 0.1 * (seen[price] - 1)))
        axes.plot(*zip(*places, strict=True), "o", ms=4, color=ink.light)
    axes.set_yticks(
        range(len(groups)),
        [
            f"{name}: {sum(fate in kinds for fate in found.fates.values())}"
            for name, kinds in groups.items()
        ],
    )
    axes.invert_yaxis()
    axes.set(
        xscale="log", xlabel="dollars per hour (log)", ylim=(len(groups) - 0.4, -0.8)
    )
    axes.set_xticks(TICKS, [str(each) for each in TICKS])
    axes.minorticks_off()
    assert found.best is not None
    return StaticFigure.of(
        figure,
        sentence=(
            f"Of {len(found.fates)} candidates {found.started} were run, none to the "
            f"end of the trace; the cheapest that keeps the level is {found.best} at "
            f"{found.best.dollars_per_hour():.2f} dollars per hour."
        ),
        title="Most candidates are settled without a simulation",
        name="capacity.fates",
    )
