"""Still pictures of the taught page: a slot, the slowest of r, split and group."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.afd import deployment, formulas
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.page import tables
from llmserve_lab.afd.page.panels import quiet
from llmserve_lab.afd.simulation.length_distributions import Floats
from llmserve_lab.afd.simulation.ratio_sweep import MOST_RATIO
from llmserve_lab.checks import whole
from llmserve_lab.page.palette import BLUE, GREEN, GREY, SERIES, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

KINDS = ((4, 3), (14, 9))  # prompt and steps of two kinds of requests
GPU, GPUS = "h100-sxm", 96
TARGET = 0.05  # seconds per token
TARGETS = tuple(0.03 + 0.0025 * i for i in range(21))
WORD: dict[str, Any] = {"ha": "center", "va": "center", "color": "white", "size": 9}
MANY = 4000  # draws of a bundle's loads


def slot_tokens() -> float:
    """θ of the two kinds, equally often."""
    steps = np.array([steps for _, steps in KINDS], float)
    prompts = np.array([prompt for prompt, _ in KINDS], float)
    return float(
        formulas.SLOT_TOKENS(
            mean_steps=steps.mean(),
            mean_square_steps=(steps**2).mean(),
            mean_prompt_steps=(prompts * steps).mean(),
        )
    )


def by_request() -> float:
    """Tokens of the two kinds, each averaged over its own steps, then both alike."""
    return float(np.mean([prompt + (steps - 1) / 2 for prompt, steps in KINDS]))


@figure_style()
def looked_at() -> StaticFigure:
    """Length-biased sampling: what one slot holds, step by step, and what looks see."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.4, 1.9))
    step, order = 0, (0, 1, 1, 0, 0, 1)
    for kind in order:
        prompt, steps = KINDS[kind]
        held = prompt + np.arange(steps)
        ink = (VERMILLION, BLUE)[kind].light
        axes.bar(step + np.arange(steps) + 0.5, held, width=0.9, color=ink, alpha=0.75)
        step += steps
    theta = slot_tokens()
    axes.axhline(theta, color=GREY.light, lw=1.4)
    mean = f"mean {theta:.2f}"
    axes.text(step + 0.4, theta + 0.7, mean, color=GREY.light, ha="left")
    axes.set_xlim(-0.5, step + 10)
    axes.text(24, 7.4, "short", color=VERMILLION.light, ha="center")
    axes.text(7.5, 23.2, "long", color=BLUE.light, ha="center")
    axes.set_ylim(0, 26)
    axes.set_xlabel("step")
    axes.set_ylabel("tokens in the slot")
    axes.locator_params(axis="y", nbins=5)
    axes.set_xticks(range(0, step + 1, 6))
    quiet(figure)
    found = sum(steps for prompt, steps in KINDS[1:]) / sum(s for _, s in KINDS)
    return StaticFigure.of(
        figure,
        name="afd.looked-at",
        title="Half of the requests are long, but most looks at a slot meet a long one",
        sentence=(
            "One slot over time. Short requests (prompt of 4 tokens, 3 steps) and long "
            "ones (prompt of 14, 9 steps) come equally often. A look at a random step "
            f"meets a long one with a chance of {found:.0%}; the slot holds "
            f"{theta:.2f} tokens on average."
        ),
    )


def slowest_loads(ratio: int, *, n_draws: int = MANY, seed: int = 3) -> Floats:
    """Largest load of ``ratio`` instances over the mean load, drawn many times."""
    whole(of="instance", most=MOST_RATIO, ratio=ratio)
    whole(of="draw", most=20_000, n_draws=n_draws)
    law, rng = paper_setup.law(), np.random.default_rng(seed)
    slots = paper_setup.BATCH
    prompt, decode = law.length_biased(rng, 200_000, "end token")
    age = rng.integers(0, decode + 1)
    held = (prompt + age).astype(float)
    loads = rng.choice(held, size=(5 * n_draws, slots)).sum(axis=1)
    picks = rng.choice(loads, size=(n_draws, ratio))
    found: Floats = picks.max(axis=1) / loads.mean()
    return found


@figure_style()
def slowest() -> StaticFigure:
    """Distribution of the largest of r loads, for one, eight and thirty-two."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.4, 1.9))
    means = {}
    for ink, ratio, place in zip(SERIES, (1, 8, 32), (0.92, 1.03, 1.17), strict=False):
        found = slowest_loads(ratio)
        means[ratio] = found.mean()
        share, edges = np.histogram(found, bins=np.arange(0.8, 1.34, 0.02))
        share = share / share.sum()
        middle = (edges[1:] + edges[:-1]) / 2
        axes.fill_between(middle, share, color=ink.light, alpha=0.25)
        axes.plot(middle, share, color=ink.light, linestyle="-", lw=1.6)
        top = share.max() + 0.012
        axes.text(place, top, f"r = {ratio}", color=ink.light, ha="center")
    axes.set_ylim(0, 0.36)
    axes.set_xlabel("load of the slowest of r machines / mean load")
    axes.set_ylabel("share of steps")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.locator_params(axis="y", nbins=4)
    quiet(figure)
    return StaticFigure.of(
        figure,
        name="afd.slowest",
        title="The more machines, the later the slowest of them",
        sentence=(
            "Loads of Attention machines with 256 requests each, drawn. On average the "
            f"largest of 8 is {means[8] - 1:.0%} above the mean, the largest of 32 "
            f"{means[32] - 1:.0%}."
        ),
    )


def best_rates() -> tuple[list[float], list[float]]:
    """Tokens/s of a GPU at each target: of the best split, and of one group."""
    splits = [tables.best(GPU, each).gpu_tokens_per_s(each) for each in TARGETS]
    groups = [
        deployment.together(GPU, GPUS, each, copies="node").gpu_tokens_per_s
        for each in TARGETS
    ]
    return splits, groups


@figure_style()
def over_targets() -> StaticFigure:
    """Tokens per second of a GPU over the target: the best split, and one group."""
    from llmserve_lab.extras import pyplot as plt

    figure, over = plt.subplots(figsize=(5.6, 2.2))
    splits, groups = best_rates()
    ms = [1e3 * each for each in TARGETS]
    low, high = tables.group_range(GPU, TARGETS)
    over.fill_between(ms, low, high, color=GREEN.light, alpha=0.16, lw=0)
    over.plot(ms, splits, color=BLUE.light, linestyle="-")
    over.plot(ms, groups, color=GREEN.light, dashes=(4, 3))
    over.text(43, 1350, "best split", color=BLUE.light, ha="left")
    over.text(
        30, 2350, "one group, and\nits error (strip)", color=GREEN.light, ha="left"
    )
    full, lead = tables.reached(GPU, 1.0), tables.lead(GPU)
    over.plot(1e3 * full[0], splits[-1], "s", ms=7, color=BLUE.light)
    over.plot(1e3 * full[2], groups[-1], "s", ms=7, color=GREEN.light)
    seen = tables.profile()
    at, rate = 1e3 * tables.profile_tpot_s(), float(seen.record.gpu_tokens_per_s)
    over.plot(at, rate, "D", ms=7, color=VERMILLION.light)
    words = f"measured: {seen.record.n_gpus} H800"
    over.text(at, rate + 330, words, color=VERMILLION.light, ha="center")
    over.plot([at, at], [rate + 60, rate + 300], color=VERMILLION.light, lw=0.8)
    over.set_xlabel("target: ms per token")
    over.set_ylabel("tokens/s of a GPU")
    over.set_ylim(0, 3200)
    over.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    over.locator_params(axis="y", nbins=4)
    quiet(figure)
    return StaticFigure.of(
        figure,
        name="afd.over-targets",
        title=f"On H100s the split leads only between {lead[0]} and {lead[1]} ms",
        sentence=(
            f"DeepSeek-V3 on {GPUS} H100, contexts of 4,096 tokens, by the model; the "
            "strip is where one group would be measured. The diamond is DeepSeek's "
            f"own profile of one group: {rate:,.0f} tokens/s at {at:.0f} ms. At a "
            "square memory is full, and a slower target buys nothing more: split "
            f"{1e3 * full[0]:.0f} ms and {splits[-1]:,.0f} tokens/s, group "
            f"{1e3 * full[2]:.0f} ms and {groups[-1]:,.0f}."
        ),
    )


INKS = (BLUE, GREEN, VERMILLION, GREY, SERIES[3])


@figure_style()
def where_time_goes() -> StaticFigure:
    """GPU time of a token by what it is spent on, as one group and split."""
    from llmserve_lab.extras import pyplot as plt

    account = tables.account(GPU, TARGET)
    figure, axes = plt.subplots(figsize=(5.6, 2.1))
    ways = ("one group", "split")
    for y in range(len(ways)):
        left = 0.0
        for ink, (what, spent) in zip(INKS, account.items(), strict=True):
            width = spent[y]
            label = what if not y else None
            axes.barh(y, width, left=left, height=0.62, color=ink.light, label=label)
            if width > 12:
                at = (left + width / 2, y)
                axes.text(*at, f"{width:.0f}", **WORD)
            left += width
        axes.text(left + 6, y, f"{left:.0f}", va="center", fontsize=10)
    axes.set_yticks([0, 1], ways)
    axes.invert_yaxis()
    axes.set_xlim(0, 560)
    axes.set_xlabel("GPU time of one token (µs)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=3, fontsize=8.5)
    axes.grid(visible=False)
    quiet(figure)
    sums = [sum(spent[y] for spent in account.values()) for y in (0, 1)]
    parts = "; ".join(f"{k}: {a:.0f} and {b:.0f}" for k, (a, b) in account.items())
    return StaticFigure.of(
        figure,
        name="afd.where-time-goes",
        title="The split saves waiting for the network, and pays in computing",
        sentence=(
            f"Microseconds of GPU time for one token at 50 ms, one group and split. "
            f"{parts}. Sums: {sums[0]:.0f} and {sums[1]:.0f} µs; "
            f"a million over them: {1e6 / sums[0]:,.0f} and {1e6 / sums[1]:,.0f} "
            "tokens/s."
        ),
    )
