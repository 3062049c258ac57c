"""Still pictures of the taught page: a slot, the slowest of r, split and group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from llmserve_lab.afd import coupled, formulas
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.page import comparison, tables
from llmserve_lab.afd.page.arrangements import WORD, by_night
from llmserve_lab.afd.page.panels import quiet
from llmserve_lab.afd.simulation.length_distributions import Floats
from llmserve_lab.afd.simulation.ratio_sweep import MOST_RATIO
from llmserve_lab.checks import whole
from llmserve_lab.page.palette import (
    BLUE,
    GREEN,
    GREY,
    SERIES,
    VERMILLION,
)
from llmserve_lab.page.still import StaticFigure, figure_style

KINDS = ((4, 3), (14, 9))  # prompt and steps of two kinds of requests
GPU, GPUS = "h100-sxm", 96
TARGET = 0.05  # seconds per token
TARGETS = tuple(ms / 1e3 for ms in range(30, 81, 2))
NARROW_US = 30  # a narrower part has its number above it
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
    axes.set_xlim(-0.5, step + 9)
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
        title="Half of the requests are long, but most of the time the slot holds one",
        sentence=(
            "One slot over time. Short requests (prompt of 4 tokens, 3 steps) and long "
            "ones (prompt of 14, 9 steps) come equally often. At "
            f"{found:.0%} of the steps the slot holds a long one; on average it holds "
            f"{theta:.2f} tokens."
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


def slowest_times(ratio: int, **draws: int) -> Floats:
    """Time of the slowest of ``ratio`` machines over the mean time of one."""
    made = paper_setup.made(1)
    mean = made.attn.slope * made.batch * float(paper_setup.law().slot().theta)
    found: Floats = (made.attn.intercept + mean * slowest_loads(ratio, **draws)) / (
        made.attn.intercept + mean
    )
    return found


@figure_style()
def slowest() -> StaticFigure:
    """Distribution of the longest of r times, for one, eight and thirty-two."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.4, 1.9))
    middles = {}
    for ink, ratio, place in zip(SERIES, (1, 8, 32), (0.93, 0.99, 1.155), strict=False):
        found = slowest_times(ratio)
        middles[ratio] = float(np.median(found))
        share, edges = np.histogram(found, bins=np.arange(0.84, 1.28, 0.015))
        share = share / share.sum()
        middle = (edges[1:] + edges[:-1]) / 2
        axes.fill_between(middle, share, color=ink.light, alpha=0.25)
        axes.plot(middle, share, color=ink.light, linestyle="-", lw=1.6)
        words = "one machine" if ratio == 1 else f"slowest of {ratio}"
        top = float(share.max()) + 0.012
        axes.text(place, top, words, color=ink.light, ha="center")
    axes.set_ylim(0, 0.34)
    axes.set_xlabel("time for a batch / mean time of one machine")
    axes.set_ylabel("share of steps")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.locator_params(axis="y", nbins=4)
    quiet(figure)
    return StaticFigure.of(
        figure,
        name="afd.slowest",
        title="The more machines, the later the slowest of them",
        sentence=(
            "Attention machines with 256 requests each, their loads drawn at random. "
            "In half of the steps the slowest of 8 takes more than "
            f"{middles[8] - 1:.0%} longer than one machine does on average, the "
            f"slowest of 32 more than {middles[32] - 1:.0%}."
        ),
    )


def rates(overlap: coupled.Overlap) -> tuple[list[float], list[float]]:
    """Tokens/s of a GPU at each target: of the best split, and of one group."""
    found = [comparison.beside(GPU, each, overlap=overlap) for each in TARGETS]
    splits = [each["split"] for each in found]
    return splits, [max(each["one batch"], each["two halves"]) for each in found]


def closest_s() -> float:
    """Target at which the best split comes nearest to one group."""
    splits, groups = (np.array(each) for each in rates("free"))
    return TARGETS[int(np.argmax(splits / groups))]


@figure_style()
def over_targets() -> StaticFigure:
    """Tokens per second of a GPU over the target, with the error of the group's."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.4, 2.1))
    ms = [1e3 * each for each in TARGETS]
    splits, groups = (np.array(each) for each in rates("free"))
    off = comparison.halves_band("free")
    axes.plot(ms, splits, color=BLUE.light, linestyle="-")
    axes.plot(ms, groups, color=GREEN.light, dashes=(4, 3))
    low, high = (groups / (1 + error) for error in (off.high, off.low))
    axes.fill_between(ms, low, high, color=GREEN.light, alpha=0.25, lw=0)
    axes.text(70, groups[-1] - 370, "one group", color=GREEN.light, ha="center")
    axes.text(70, splits[-1] - 330, "best split", color=BLUE.light, ha="center")
    axes.set_xlabel("target: ms per token")
    axes.set_ylabel("tokens/s of a GPU")
    axes.set_ylim(0, 3400)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.locator_params(axis="y", nbins=4)
    axes.locator_params(axis="x", nbins=5)
    quiet(figure)
    leads = splits / groups - 1
    near = TARGETS.index(closest_s())
    return StaticFigure.of(
        figure,
        name="afd.over-targets",
        title="In the model the best split stays behind one group; at "
        f"{ms[near]:.0f} ms the gap is smallest",
        sentence=(
            f"DeepSeek-V3 on {GPUS} H100, contexts of 4,096 tokens, overlap free. At "
            f"{ms[near]:.0f} ms the split is {-leads[near]:.0%} behind; with less time "
            "the group does best in one batch, with more in two halves. Band: how near "
            "the model is to measured groups that it knew, not how far off it may be."
        ),
    )


INKS = (BLUE, GREEN, VERMILLION, GREY, SERIES[3])


@figure_style()
def where_time_goes() -> StaticFigure:
    """GPU time of a token by what it is spent on: one batch, two halves, split."""
    from llmserve_lab.extras import pyplot as plt

    account = tables.account(GPU, TARGET)
    figure, axes = plt.subplots(figsize=(4.4, 2.4))
    ways = ("group,\none batch", "group,\ntwo halves", "best split")
    for y in range(len(ways)):
        left = 0.0
        for ink, (what, spent) in zip(INKS, account.items(), strict=True):
            width = spent[y]
            label = what if not y else None
            axes.barh(y, width, left=left, height=0.66, color=ink.light, label=label)
            if width > NARROW_US:
                axes.text(left + width / 2, y, f"{width:.0f}", **WORD)
            elif width > 1:  # two of them side by side, their numbers apart
                first = ink is INKS[2]
                at, side = (left + width - 2, "right") if first else (left + 6, "left")
                look: dict[str, Any] = {"color": ink.light, "ha": side, "size": 9}
                axes.text(at, y + 0.64, f"{width:.0f}", **look)
            left += width
        axes.text(left + 6, y, f"{left:.0f}", va="center", fontsize=10)
    axes.set_yticks(range(len(ways)), ways)
    axes.set_xlim(0, 1.13 * max(map(sum, zip(*account.values(), strict=True))))
    axes.set_ylim(len(ways) - 0.12, -0.45)
    axes.set_xlabel("GPU time of one token (µs)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2, fontsize=9.5)
    axes.grid(visible=False)
    quiet(figure)
    drawn = StaticFigure.of(
        figure,
        name="afd.where-time-goes",
        title="The split hides the network, but its kinds of GPU wait for each other",
        sentence=(
            f"DeepSeek-V3 on {GPUS} H100 at 50 ms per token, overlap free. The number "
            "behind each bar is its sum; a million over it is the rate of a GPU in "
            "tokens per second."
        ),
    )
    return replace(drawn, svg=by_night(drawn.svg))
