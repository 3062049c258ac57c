"""Still pictures of the taught page: a slot looked at, the slowest of r, equal GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.afd import deployment, formulas
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.page.panels import quiet
from llmserve_lab.afd.simulation.length_distributions import Floats
from llmserve_lab.page.palette import BLUE, GREEN, GREY, SERIES, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

KINDS = ((4, 3), (14, 9))  # prompt and steps of two kinds of requests
GPU, GPUS = "h100-sxm", 96
TARGETS = (0.05, 0.1)  # seconds per token
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

    figure, axes = plt.subplots(figsize=(4.4, 2.5))
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

    figure, axes = plt.subplots(figsize=(4.4, 2.5))
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


def rates(tpot_s: float) -> tuple[list[int], list[float], float]:
    """Attention GPUs, tokens/s of a GPU at each split, and that of one group."""
    by_split: dict[int, float] = {}
    for one in deployment.splits(GPU, GPUS, copies="node"):
        rate = one.gpu_tokens_per_s(tpot_s)
        by_split[one.n_attn] = max(by_split.get(one.n_attn, 0.0), rate)
    at = sorted(by_split)
    whole = deployment.together(GPU, GPUS, tpot_s, copies="node")
    return at, [by_split[x] for x in at], whole.gpu_tokens_per_s


@figure_style()
def equal_gpus() -> StaticFigure:
    """Tokens per second of a GPU at every split, and as one group, at two targets."""
    from llmserve_lab.extras import pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(4.6, 2.9), sharey=True)
    said: list[Any] = []
    for axes, target in zip(both, TARGETS, strict=True):
        at, rate, whole = rates(target)
        axes.plot(at, rate, color=BLUE.light, linestyle="-", marker="o", ms=4)
        axes.axhline(whole, color=GREEN.light, dashes=(4, 3), lw=1.6)
        best = int(np.argmax(rate))
        axes.plot(at[best], rate[best], "o", ms=9, mfc="none", color=BLUE.light)
        words = f"{at[best]}A–{GPUS - at[best]}F"
        axes.text(
            at[best], max(rate[best], whole) + 110, words, color=BLUE.light, ha="center"
        )
        axes.text(2, whole + 60, "one group", color=GREEN.light, ha="left")
        axes.set_title(f"{1e3 * target:.0f} ms per token")
        axes.set_xlabel(f"Attention GPUs of {GPUS}")
        axes.set_xlim(0, GPUS)
        axes.set_ylim(0, 2900)
        axes.set_xticks([0, 32, 64])
        said.append((words, rate[best], whole))
    both[0].set_ylabel("tokens/s of a GPU")
    both[0].yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    both[0].locator_params(axis="y", nbins=4)
    quiet(figure)
    (name, tight, group), (other, loose, wide) = said
    return StaticFigure.of(
        figure,
        name="afd.equal-gpus",
        title="At a tight target the split wins, at a loose one it does not",
        sentence=(
            f"DeepSeek-V3 on {GPUS} H100, contexts of 4,096 tokens. At 50 ms per "
            f"token {name} makes {tight:,.0f} tokens/s on each GPU and one group "
            f"{group:,.0f}; at 100 ms {other} makes {loose:,.0f} and one group "
            f"{wide:,.0f}."
        ),
    )
