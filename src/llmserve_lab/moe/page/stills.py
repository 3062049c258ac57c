"""The chapter's still pictures: measured transfers, loads, and a bias at work."""

from __future__ import annotations

import numpy as np

from llmserve_lab.formula.text import plain
from llmserve_lab.moe import exchange_time, load_balancing, serving
from llmserve_lab.moe.placement import Counts, Placement, balance, contiguous, redundant
from llmserve_lab.page.palette import BLUE, GREEN, GREY, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.transformer.arithmetic import Integers

LEVEL = 0.95  # balancedness from which loads look alike
INKS = {"in order": VERMILLION, "heaviest first": BLUE}


def ways(extra: int) -> tuple[str, str, str]:
    """Names of three ways to house experts, the last with replicas of some."""
    return "in order", "heaviest first", f"{extra} replicas more"


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
def loads(
    title: str,
    rows: Integers,
    *,
    num_ranks: int,
    extra: int,
    name: str = "moe.loads",
) -> StaticFigure:
    """Rows of every rank, the busiest first, under three placements of the experts."""
    from llmserve_lab.extras import pyplot as plt

    housed = placements(rows, num_ranks, extra)
    figure, (panels,) = plt.subplots(
        1, len(housed), sharey=True, squeeze=False, figsize=(4.75, 1.9)
    )
    found = {name: way.loads(rows) for name, way in housed.items()}
    for axes, (way, load) in zip(panels, found.items(), strict=True):
        edges = np.arange(num_ranks + 1) - 0.5
        ink = INKS.get(way, GREEN)
        axes.stairs(np.sort(load)[::-1], edges, color=ink.light, fill=True)
        axes.axhline(float(np.mean(load)), color=GREY.light, dashes=(4, 2))
        axes.set_title(way, fontsize=9.5)
        axes.set_xlabel("GPUs, busiest first")
        axes.set_xticks([0, num_ranks - 1], ["1", str(num_ranks)])
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel("choices of a GPU")
    missing = [way for way in ways(extra) if way not in found]
    shown = ", ".join(f"{way} {plain(balance(load))}" for way, load in found.items())
    return StaticFigure.of(
        figure,
        name=name,
        title=_levelled([balance(load) for load in found.values()]),
        sentence=f"{title}: balancedness is {shown}; the dashed line is the mean."
        + "".join(f" Not {way}: GPUs would differ." for way in missing),
    )


def _levelled(balances: list[float]) -> str:
    """What the last placement reaches, in words that its own panel bears out."""
    if balances[-1] >= LEVEL:
        return "Replicas of a few popular experts level all GPUs"
    return "So few replicas do not level all GPUs"


@figure_style()
def exchange() -> StaticFigure:
    """Published times of dispatch and combine against the model's, by group size."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.75, 1.9))
    start_s, found = exchange_time.start_s(), exchange_time.compared()
    ways = {"combine": ("s", VERMILLION), "dispatch": ("o", BLUE)}
    for way, (marker, ink) in ways.items():
        points = [each for each in found if each.way == way]
        sizes = [each.ep for each in points]
        for start, dash, name in ((start_s, "-", "model"), (0.0, ":", "wire alone")):
            times = [exchange_time.seconds(way, g, start_s=start) for g in sizes]
            axes.plot(
                sizes,
                [1e6 * each for each in times],
                color=ink.light,
                linestyle=dash,
            )
            last = (sizes[-1] * 1.12, 1e6 * times[-1])
            axes.annotate(
                f"{way}, {name}",
                last,
                color=ink.light,
                va="center",
                annotation_clip=False,
            )
        took = [1e6 * each.measured_s for each in points]
        axes.plot(sizes, took, marker, color=ink.light, markersize=7)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(0, 400)
    axes.set_xlim(sizes[0] * 0.9, sizes[-1] * 4.2)
    axes.set_xlabel("GPUs that share the experts (log scale)")
    axes.set_ylabel("time of one layer (µs)")
    mean, worst = exchange_time.mean_error(), exchange_time.worst_error()
    return StaticFigure.of(
        figure,
        name="moe.exchange",
        title="Sending takes longer with more GPUs, and levels off",
        sentence=(
            f"DeepEP on H800, {serving.ROWS:.0f} tokens on each GPU. Points are "
            "measured, solid lines are the model fitted to all of them. Left out of "
            f"the fit, a group size is predicted {100 * mean:.0f} % off on average; "
            f"the worst, {100 * abs(worst):.1f} %, is too "
            f"{'low' if worst < 0 else 'high'}."
        ),
    )


@figure_style()
def balanced() -> StaticFigure:
    """Rows of every expert under three routers, with the capacity beside them."""
    from llmserve_lab.extras import pyplot as plt

    found = load_balancing.methods()
    figure, panels = plt.subplots(1, len(found), sharey=True, figsize=(4.6, 2.6))
    edges = np.arange(load_balancing.EXPERTS + 1) - 0.5
    for axes, (name, router) in zip(panels, found.items(), strict=True):
        mean = router.loads.mean()
        capacity = load_balancing.CAPACITY * mean
        load = np.sort(router.loads)[::-1]
        axes.stairs(load, edges, color=VERMILLION.light, fill=True, alpha=0.75)
        axes.stairs(np.minimum(load, capacity), edges, color=BLUE.light, fill=True)
        axes.axhline(capacity, color=GREY.light, dashes=(4, 2))
        axes.set_title(name, fontsize=9.5)
        axes.set_xlabel("busiest first")
        axes.set_xticks([])
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel("tokens of an expert")
    panels[0].text(5.5, 1150, "dropped", color=VERMILLION.light, fontsize=9.5)
    panels[1].text(15.5, 1.04 * capacity, "capacity", color=GREY.light, ha="right")
    said = "; ".join(
        f"{name}: {100 * load_balancing.dropped_share(router.loads):.0f} % dropped"
        for name, router in found.items()
    )
    return StaticFigure.of(
        figure,
        name="moe.balanced",
        title="What is above the capacity is dropped; a balanced router drops nothing",
        sentence=(
            f"Tokens of each of {load_balancing.EXPERTS} experts; the dashed line is a "
            f"capacity of {load_balancing.CAPACITY:g} times the mean, the part above "
            f"it is dropped. {said[0].upper() + said[1:]}."
        ),
    )
