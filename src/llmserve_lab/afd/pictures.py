"""The chapter's still pictures: what was simulated, and what two rules say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from llmserve_lab.afd import paper, rule
from llmserve_lab.afd.bundle import Bundle
from llmserve_lab.afd.laws import Law
from llmserve_lab.afd.study import Study, study
from llmserve_lab.book.display import si
from llmserve_lab.book.palette import BLUE, GREEN, GREY, SERIES, VERMILLION
from llmserve_lab.book.static import StaticFigure, figure_style

RATIO = "Attention instances per FFN instance, r"
MARKS = (1, 2, 4, 8, 16, 32)
SEEN = [0, 2, 5, 8, 11, 15]  # indices of ratios that get a point


@figure_style()
def simulated(*, n_requests: int = 1200, n_seeds: int = 3) -> StaticFigure:
    """Figures 4 and 5 of the paper at every whole ratio, with confidence bands."""
    import matplotlib.pyplot as plt

    one = study(
        paper.made(1), paper.law(), most=32, n_requests=n_requests, seeds=range(n_seeds)
    )
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(5.6, 5.6), sharex=True)
    rates(upper, one)
    waits(lower, one)
    over_ratio(lower)
    of_paper, ours = (np.abs(error).max() for error in one.errors())
    seen = one.mean("tokens_per_s")
    return StaticFigure.of(
        figure,
        title="The closed form is right at both ends and wrong where it matters",
        sentence=(
            f"The paper's setting from {n_seeds} seeds: the most tokens come at r = "
            f"{1 + seen.argmax()}; our rule says {1 + one.ours.argmax()} and is off by "
            f"at most {ours:.1%} at any ratio; the paper's form says "
            f"{1 + one.paper.argmax()} and is off by up to {of_paper:.1%}."
        ),
    )


def rates(axes: Any, one: Study) -> None:
    """Throughput of one study: points with bands, and two curves."""
    mean, half = one.mean("tokens_per_s") / 1e3, one.band("tokens_per_s") / 1e3
    axes.plot(one.ratios, one.paper / 1e3, color=GREY.light, dashes=(4, 3))
    axes.plot(one.ratios, one.ours / 1e3, color=BLUE.light, linestyle="-")
    axes.fill_between(
        one.ratios, mean - half, mean + half, color=VERMILLION.light, alpha=0.3
    )
    few = [i for i in range(len(mean)) if i < 12 or i % 8 == 7]
    axes.plot(one.ratios, mean, "o", color=VERMILLION.light, ms=3.5, markevery=few)
    axes.set_ylabel("thousand tokens/s, instance")
    axes.set_ylim(0, 1.15 * one.paper.max() / 1e3)
    axes.locator_params(axis="y", nbins=4)
    last = one.ratios[-1]
    for name, ink, where in (
        ("paper", GREY, (last * 0.32, one.paper.max() / 1e3 * 1.01)),
        ("our rule", BLUE, (last * 0.55, one.ours[len(mean) // 2] / 1e3 * 1.02)),
        ("simulated", VERMILLION, (1.1, mean[0] * 0.75)),
    ):
        axes.text(*where, name, color=ink.light)


def waits(axes: Any, one: Study) -> None:
    """Idle shares of one study."""
    for name, ink, label in (
        ("idle_attn", BLUE, "Attention waits"),
        ("idle_ffn", GREEN, "FFN waits"),
    ):
        mean, half = one.mean(name), one.band(name)
        axes.plot(one.ratios, mean, color=ink.light, linestyle="-")
        axes.fill_between(
            one.ratios, mean - half, mean + half, color=ink.light, alpha=0.3
        )
        at = -1 if name == "idle_attn" else 0
        align = "right" if at else "left"
        axes.text(one.ratios[at], mean[at] + 0.04, label, color=ink.light, ha=align)
    axes.set_ylim(0, 1)
    axes.locator_params(axis="y", nbins=4)
    axes.set_ylabel("share of time")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")


def over_ratio(axes: Any) -> None:
    """A logarithmic axis of ratios, labelled at powers of two."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(MARKS, [f"{mark}" for mark in MARKS])
    axes.minorticks_off()
    axes.set_xlabel(RATIO)


@figure_style()
def ablations(*, n_requests: int = 700) -> StaticFigure:
    """Figures 6 and 7 of the paper: batches, and lengths of prompts and answers."""
    import matplotlib.pyplot as plt

    figure, (upper, lower) = plt.subplots(2, 1, figsize=(5.6, 6.2), sharex=True)
    batches = {
        f"B = {b}": (paper.made(1, batch=b), paper.law()) for b in (128, 256, 512)
    }
    lengths = {
        f"prompts {s}, answers {d}": (paper.made(1), paper.law(prompt=s, answer=d))
        for s, d in ((100, 100), (100, 500), (500, 500))
    }
    tops = [_tops(upper, batches, n_requests), _tops(lower, lengths, n_requests)]
    over_ratio(lower)
    (small, *_, large), (short, *_, long) = tops
    return StaticFigure.of(
        figure,
        title="Larger batches and longer contexts want more Attention machines",
        sentence=(
            "From the smallest to the largest batch the simulated best ratio goes "
            f"from {small} to {large}, from the shortest to the longest context from "
            f"{short} to {long}; lines are our rule, dashes the paper's form."
        ),
    )


def _tops(
    axes: Any, cases: Mapping[str, tuple[Bundle, Law]], n_requests: int
) -> list[int]:
    """Draw one panel; the best simulated ratio of each case."""
    found = []
    for ink, (name, (made, law)) in zip(SERIES, cases.items(), strict=False):
        one = study(made, law, most=16, n_requests=n_requests, seeds=(0,))
        seen = one.mean("tokens_per_s")
        axes.plot(one.ratios, one.paper / 1e3, color=ink.light, dashes=(4, 3), lw=1)
        axes.plot(one.ratios, one.ours / 1e3, color=ink.light, linestyle="-")
        axes.plot(
            one.ratios,
            seen / 1e3,
            "o",
            color=ink.light,
            ms=3,
            label=name,
            markevery=SEEN,
        )
        found.append(1 + int(seen.argmax()))
    axes.set_ylim(0)
    axes.locator_params(axis="y", nbins=4)
    axes.set_ylabel("thousand tokens/s, instance")
    axes.legend(loc="lower center")
    return found


@figure_style()
def latencies() -> StaticFigure:
    """Figure 8 of the paper: the three straight lines."""
    import matplotlib.pyplot as plt

    made = paper.made(1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.6, 2.6), sharey=True)
    tokens, requests = np.array([0.0, 4e5]), np.array([0.0, 8192.0])
    left.plot(tokens / 1e3, made.attn(tokens) * 1e6, color=BLUE.light, linestyle="-")
    right.plot(requests, made.ffn(requests) * 1e6, color=VERMILLION.light)
    right.plot(requests, made.wire(requests) * 1e6, color=GREEN.light)
    left.set_xlabel("thousand tokens read")
    right.set_xlabel("requests")
    left.set_ylabel("time (µs)")
    left.text(200, 420, "Attention", color=BLUE.light, ha="right")
    right.text(5000, 600, "FFN", color=VERMILLION.light, ha="right")
    right.text(8000, 60, "wire", color=GREEN.light, ha="right")
    busy_s = float(made.attn(paper.BATCH * float(paper.law().slot().theta)))
    served = (busy_s - made.ffn.intercept) / made.ffn.slope
    return StaticFigure.of(
        figure,
        title="Attention pays for tokens, the FFN for requests",
        sentence=(
            f"At the paper's batch and lengths Attention takes {si(busy_s, 's')}; in "
            f"that time the FFN serves {served:,.0f} requests."
        ),
    )


@figure_style()
def own(made: Bundle, law: Law, *, most: int, n_requests: int) -> StaticFigure:
    """Throughput over the ratio for settings of a reader's own."""
    import matplotlib.pyplot as plt

    one = study(made, law, most=most, n_requests=n_requests, seeds=range(3))
    figure, axes = plt.subplots()
    rates(axes, one)
    over_ratio(axes)
    seen = 1 + int(one.mean("tokens_per_s").argmax())
    best = rule.best_ratio(made, law.slot(), most=most)
    return StaticFigure.of(
        figure,
        sentence=(
            f"{made.n_batches} batches of {made.batch} in flight: the simulation is "
            f"best at r = {seen}, our rule says {best} and the paper's form "
            f"{1 + int(one.paper.argmax())}."
        ),
    )
