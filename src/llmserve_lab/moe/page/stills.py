"""The chapter's still pictures: loads of ranks, and a bias at work."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.formula.text import plain
from llmserve_lab.moe.aux_loss_free_balancing import Steered
from llmserve_lab.moe.hybrid_parallel_block import EVERY, HEADS, PART, SOME, HybridRun
from llmserve_lab.moe.placement import Counts, Placement, balance, contiguous, redundant
from llmserve_lab.moe.routing_sampler import draw, rows_of_experts, zipf
from llmserve_lab.page.palette import BLUE, GREEN, GREY, SERIES, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.transformer.arithmetic import Integers

# How a layout is cut: across its features, down its rows; and what to write on it.
PIECES: dict[str, tuple[bool, bool, str]] = {
    SOME: (False, True, ""),
    EVERY: (False, False, "on\neach"),
    HEADS: (True, False, ""),
    PART: (False, False, "a part\non each"),
}
INKS = {"in order": VERMILLION, "heaviest first": BLUE}
STEPS = {
    "start": "start",
    "all-gather": "gather",
    "attention": "attention",
    "output projection": "output",
    "reduce-scatter": "scatter",
    "dispatch, experts, combine": "experts",
}


def popular(
    *, n_experts: int, n_rows: int, top_k: int, steepness: float, seed: int = 0
) -> Integers:
    """Rows of each expert [E]: popularity falls by Zipf's law, in no order."""
    shuffled = np.random.default_rng(seed).permutation(zipf(n_experts, steepness))
    chosen = draw(shuffled, n_rows=n_rows, top_k=top_k, seed=seed)
    return rows_of_experts(chosen, n_experts)


def ways(extra: int) -> tuple[str, str, str]:
    """Names of three ways to house experts, the last with copies of some."""
    return "in order", "heaviest first", f"{extra} copies more"


def placements(rows: Counts, num_ranks: int, extra: int) -> dict[str, Placement]:
    """Experts that get so many rows, housed in those ways that fill the ranks evenly.

    Raises:
        ValueError: none does.
    """
    plain, sorted_, copied = ways(extra)
    found: dict[str, Placement] = {}
    if len(rows) % num_ranks == 0:
        found[plain] = contiguous(len(rows), num_ranks)
        found[sorted_] = redundant(rows, num_ranks)
    if (len(rows) + extra) % num_ranks == 0:
        found[copied] = redundant(rows, num_ranks, extra)
    if not found:
        raise ValueError(
            f"experts, alone or with copies, must fill {num_ranks} ranks evenly, got "
            f"{len(rows)} and {extra}"
        )
    return found


@figure_style()
def loads(title: str, rows: Integers, *, num_ranks: int, extra: int) -> StaticFigure:
    """Rows of every rank, the busiest first, under three placements of the experts."""
    from llmserve_lab.extras import pyplot as plt

    housed = placements(rows, num_ranks, extra)
    figure, (panels,) = plt.subplots(
        1, len(housed), sharey=True, squeeze=False, figsize=(5.6, 2.9)
    )
    found = {name: way.loads(rows) for name, way in housed.items()}
    for axes, (name, load) in zip(panels, found.items(), strict=True):
        edges = np.arange(num_ranks + 1) - 0.5
        ink = INKS.get(name, GREEN)
        axes.stairs(np.sort(load)[::-1], edges, color=ink.light, fill=True)
        axes.axhline(float(np.mean(load)), color=GREY.light, dashes=(4, 2))
        axes.set_title(name, fontsize=9.5)
        axes.set_xlabel("ranks, busiest first")
        axes.set_xticks([])
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel("rows")
    missing = [name for name in ways(extra) if name not in found]
    shown = ", ".join(f"{name} {plain(balance(load))}" for name, load in found.items())
    return StaticFigure.of(
        figure,
        name="moe.loads",
        title="Copies of the few hot experts level all ranks",
        sentence=f"{title}: balancedness is {shown}; the dashed line is the mean."
        + "".join(f" Not {name}: ranks would differ." for name in missing),
    )


@figure_style()
def steered(runs: dict[str, Steered]) -> StaticFigure:
    """Balancedness of the experts while a bias is nudged after every batch."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.6, 2.9))
    for name, run in runs.items():
        axes.plot(run.balancedness, label=name)
    axes.set_ylim(0, 1)
    axes.set_xlabel("batches")
    axes.set_ylabel("balancedness of experts")
    axes.legend(loc="lower right")
    return StaticFigure.of(
        figure,
        name="moe.steered",
        title="A nudge after every batch evens the load out",
        sentence=f"{_ends(runs)}.",
    )


@figure_style()
def layouts(block: HybridRun, *, tp: int) -> StaticFigure:
    """Rows × features of one batch after each step, a colour for each rank's piece."""
    from llmserve_lab.extras import patches
    from llmserve_lab.extras import pyplot as plt

    steps = [held for held in block.steps[0] if held.layout in PIECES]
    figure, axes = plt.subplots(figsize=(4.4, 2.0))
    for place, held in enumerate(steps):
        across, down, note = PIECES[held.layout]
        for piece in range(tp if across or down else 1):
            x, y = place + 0.8 * piece / tp * across, 0.8 * piece / tp * down
            width, height = (0.8 / tp if cut else 0.8 for cut in (across, down))
            ink = SERIES[piece].light if across or down else GREY.light
            axes.add_patch(
                patches.Rectangle((x, y), width, height, color=ink, alpha=0.6)
            )
        axes.text(place + 0.4, 0.4, note, ha="center", va="center", fontsize=9)
        axes.text(place + 0.4, -0.08, STEPS[held.step], ha="center", fontsize=9)
    axes.set(xlim=(-0.1, len(steps)), ylim=(0.9, -0.3))
    axes.axis("off")
    names = ", then ".join(f"{held.step}: {held.layout}" for held in steps)
    return StaticFigure.of(
        figure,
        name="moe.layouts",
        title="Rows are cut for experts, features only inside attention",
        sentence=f"A batch on {tp} ranks, rows down and features across. {names}.",
    )


def _ends(runs: dict[str, Steered]) -> str:
    parts: list[Any] = []
    for name, run in runs.items():
        first, last = (plain(run.balancedness[i], 2) for i in (0, -1))
        parts.append(f"{name}: balancedness goes from {first} to {last}")
    return "; ".join(parts)
