"""Still pictures of the taught page: a slot, the slowest of r, split and group."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.afd import deployment, formulas
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.page import going_round, tables
from llmserve_lab.afd.page.panels import quiet
from llmserve_lab.afd.simulation.length_distributions import Floats
from llmserve_lab.page.palette import BLUE, GREEN, GREY, MEANINGS, SERIES, VERMILLION
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

    figure, axes = plt.subplots(figsize=(4.4, 2.2))
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

    figure, axes = plt.subplots(figsize=(4.4, 2.2))
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
    axes.set_xlabel("largest load of r machines, over the mean load")
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


@figure_style()
def two_and_three() -> StaticFigure:
    """Two whole rounds of two and of three batches in flight, one below the other."""
    from llmserve_lab.extras import pyplot as plt

    figure, both = plt.subplots(2, 1, figsize=(5.6, 2.8), sharex=True)
    lanes, names = (0, 1, 2, 4), ("A1", "A2", "A3", "FFN")
    said = []
    for axes, n_batches in zip(both, going_round.FLIGHTS.values(), strict=True):
        length = going_round.window(n_batches)[1]
        for lane, batch, start, end in going_round.bars(n_batches):
            if lane in lanes:
                y = -lanes.index(lane)
                ink = MEANINGS["ABC"[batch]].light
                axes.barh(y, end - start, left=start, height=0.8, color=ink)
                if end - start > 60:
                    at = ((start + end) / 2, y)
                    axes.text(*at, f"{batch + 1}", **WORD)
        axes.axvline(length, color=GREY.light, lw=1)
        attn, ffn = going_round.waits(n_batches)
        words = f"{n_batches} in flight: Attention waits {attn:.0%}, FFN {ffn:.0%}"
        axes.set_title(words, fontsize=10, loc="left")
        axes.set_yticks([0, -1, -2, -3], names)
        axes.set_xlim(0, going_round.WINDOW)
        axes.grid(visible=False)
        said.append(f"{words}; two rounds take {length:,.0f} µs")
    both[1].set_xlabel("time (µs)")
    quiet(figure)
    rates_ = [2 * m / going_round.window(m)[1] for m in going_round.FLIGHTS.values()]
    return StaticFigure.of(
        figure,
        name="afd.two-and-three",
        title="The third batch works where two leave a gap",
        sentence=(
            f"Two whole rounds each, up to the grey line. {'. '.join(said)}. With "
            f"three, {rates_[1] / rates_[0] - 1:.0%} more batches start in the same "
            "time."
        ),
    )


def rates(tpot_s: float) -> tuple[list[int], list[float], float]:
    """Attention GPUs, tokens/s of a GPU at each split, and that of one group."""
    by_split: dict[int, float] = {}
    for one in deployment.splits(GPU, GPUS, copies="node"):
        rate = one.gpu_tokens_per_s(tpot_s)
        by_split[one.n_attn] = max(by_split.get(one.n_attn, 0.0), rate)
    at = sorted(by_split)
    whole = deployment.together(GPU, GPUS, tpot_s, copies="node")
    return at, [by_split[x] for x in at], whole.gpu_tokens_per_s


def best_rates() -> tuple[list[float], list[float]]:
    """Tokens/s of a GPU at each target: of the best split, and of one group."""
    splits = [tables.best(GPU, each).gpu_tokens_per_s(each) for each in TARGETS]
    groups = [
        deployment.together(GPU, GPUS, each, copies="node").gpu_tokens_per_s
        for each in TARGETS
    ]
    return splits, groups


@figure_style()
def equal_gpus() -> StaticFigure:
    """Tokens per second of a GPU at every split, and of the best over the target."""
    from llmserve_lab.extras import pyplot as plt

    figure, (every, over) = plt.subplots(1, 2, figsize=(5.6, 3.0), sharey=True)
    at, rate, whole = rates(TARGET)
    best = int(np.argmax(rate))
    every.plot(at, rate, color=BLUE.light, linestyle="-", marker="o", ms=4)
    every.axhline(whole, color=GREEN.light, dashes=(4, 3), lw=1.6)
    words = f"{at[best]}A–{GPUS - at[best]}F"
    every.text(at[best], rate[best] + 110, words, color=BLUE.light, ha="center")
    every.text(2, whole + 60, "one group", color=GREEN.light, ha="left")
    every.set_title(f"every split, {1e3 * TARGET:.0f} ms", fontsize=10)
    every.set_xlabel(f"Attention GPUs of {GPUS}")
    every.set_xlim(0, GPUS)
    every.set_ylim(0, 2900)
    every.set_xticks([0, 32, 64, 96])
    splits, groups = best_rates()
    ms = [1e3 * each for each in TARGETS]
    over.plot(ms, splits, color=BLUE.light, linestyle="-")
    over.plot(ms, groups, color=GREEN.light, dashes=(4, 3))
    over.text(42, 2330, "best split", color=BLUE.light, ha="center")
    over.text(58, 1700, "one group", color=GREEN.light, ha="left")
    full, lead = tables.reached(GPU, 1.0), tables.lead(GPU)
    over.axvspan(*lead, color=BLUE.light, alpha=0.1, lw=0)
    over.plot(1e3 * full[0], splits[-1], "s", ms=7, color=BLUE.light)
    over.plot(1e3 * full[2], groups[-1], "s", ms=7, color=GREEN.light)
    over.set_title("over the target", fontsize=10)
    over.set_xlabel("target: ms per token")
    every.set_ylabel("tokens/s of a GPU")
    every.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    every.locator_params(axis="y", nbins=4)
    quiet(figure)
    return StaticFigure.of(
        figure,
        name="afd.equal-gpus",
        title=f"The split leads only between {lead[0]} and {lead[1]} ms per token",
        sentence=(
            f"DeepSeek-V3 on {GPUS} H100, contexts of 4,096 tokens, by the model. "
            f"Left: at 50 ms per token {words} makes {rate[best]:,.0f} tokens/s on "
            f"each GPU and one group {whole:,.0f}. Right: the best of each at every "
            f"target; the split leads from {lead[0]} to {lead[1]} ms. At a square "
            "memory is full, and a slower target buys nothing more: split "
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
    figure, axes = plt.subplots(figsize=(5.6, 2.4))
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
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.3), ncols=2, fontsize=9)
    axes.grid(visible=False)
    quiet(figure)
    sums = [sum(spent[y] for spent in account.values()) for y in (0, 1)]
    parts = "; ".join(f"{k}: {a:.0f} and {b:.0f}" for k, (a, b) in account.items())
    return StaticFigure.of(
        figure,
        name="afd.where-time-goes",
        title="The split saves waiting for the network, and pays in computing",
        sentence=(
            f"Microseconds of GPU time for one token at 50 ms on {GPUS} H100, one "
            f"group and split. {parts}. Sums: {sums[0]:.0f} and {sums[1]:.0f} µs; "
            f"a million over them: {1e6 / sums[0]:,.0f} and {1e6 / sums[1]:,.0f} "
            "tokens/s."
        ),
    )
