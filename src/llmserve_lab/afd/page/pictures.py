"""Still pictures of the taught page: a slot, the slowest of r, split and group."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.afd import coupled, formulas
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.page import verdict
from llmserve_lab.afd.page.panels import quiet
from llmserve_lab.afd.simulation.length_distributions import Floats
from llmserve_lab.afd.simulation.ratio_sweep import MOST_RATIO
from llmserve_lab.afd.tuned_group import tuned_group
from llmserve_lab.checks import whole
from llmserve_lab.page.palette import (
    BLUE,
    GREY,
    SERIES,
    VERMILLION,
)
from llmserve_lab.page.still import StaticFigure, figure_style

KINDS = ((4, 3), (14, 9))  # prompt and steps of two kinds of requests
GPU, GPUS = "h100-sxm", 96
TARGETS = tuple(ms / 1e3 for ms in range(30, 81, 2))
MANY = 4000  # draws of a bundle's loads
COPIES: tuple[coupled.Copies, ...] = ("expert", "node")


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


@cache
def leads(copies: coupled.Copies) -> tuple[list[float], list[float]]:
    """The split's lead at each target, in per cent: layouts as they are, and chosen.

    Each side chooses what :class:`verdict.Choices` lets it.
    """
    asked: dict[str, Any] = {"copies": copies}
    plain = [100 * verdict.as_is(GPU, each, **asked).lead for each in TARGETS]
    free = (verdict.by_choices(verdict.EVERY, GPU, each, **asked) for each in TARGETS)
    return plain, [100 * each.lead for each in free]


@cache
def two_halves_from(copies: coupled.Copies) -> int:
    """Target in ms from which on the group that may choose takes two halves."""
    single = [
        each
        for each in TARGETS
        if tuned_group(GPU, GPUS, each, shared=True, even=True, copies=copies).n_batches
        == 1
    ]
    return round(1e3 * TARGETS[TARGETS.index(max(single)) + 1])


@figure_style()
def over_targets() -> StaticFigure:
    """The split's lead over the target: a panel for each way to send rows."""
    from llmserve_lab.extras import pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(4.75, 2.3), sharey=True)
    ms = [1e3 * each for each in TARGETS]
    for axes, ink, copies, words in zip(
        both, (BLUE, VERMILLION), COPIES, ("a row sent 8 times", "once to each node"),
        strict=True,
    ):  # fmt: skip
        plain, free = leads(copies)
        turn = two_halves_from(copies)
        axes.axhline(0, color=GREY.light, lw=1.4)
        axes.axvline(turn, color=GREY.light, lw=1.4)
        axes.fill_between(ms, plain, free, color=ink.light, alpha=0.3, lw=0)
        axes.plot(ms, plain, color=ink.light, linestyle="-")
        axes.plot(ms, free, color=ink.light, dashes=(4, 3))
        axes.text(80, 22, words, color=ink.light, ha="right")
        axes.text(80, 14, f"{turn} ms: group", color=GREY.light, ha="right")
        axes.text(80, 8.5, "takes two halves", color=GREY.light, ha="right")
        axes.set_xlabel("target: ms per token")
        axes.set_ylim(-42, 28)
        axes.set_xticks([30, 40, 50, 60, 70, 80])
    both[1].text(80, 1.2, "split ahead", color=GREY.light, ha="right")
    both[0].set_ylabel("lead of the best split")
    both[0].yaxis.set_major_formatter(lambda value, _: f"{value:+.0f}%")
    both[0].locator_params(axis="y", nbins=6)
    quiet(figure)
    return StaticFigure.of(
        figure,
        name="afd.over-targets",
        title="The split is behind, except near the target at which the group changes "
        "to two halves",
        sentence=(
            "Solid: nothing chosen, as in the first row of the table above. Dashed: "
            "everything chosen, as in its last row; upright line: from there on this "
            "group takes two halves."
        ),
    )
