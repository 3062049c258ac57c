"""The chapter's still pictures: predicted against measured gains, and the bench's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmserve_lab.catalog import Given
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, GREY, MEANINGS, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.published import (
    Doubling,
    by_degree,
    doublings,
    mean_error,
    num_rows,
    worse,
)

INKS = {2: BLUE, 4: GREEN, 8: VERMILLION}
MARKS = {2: "o", 4: "s", 8: "D"}
RANGE = (0.7, 1.9)  # every pair lies in it


def _near(gain: float) -> float:
    """A gain to the nearest fiftieth, the width of a mark."""
    return round(50 * gain) / 50


def _places(found: Sequence[Doubling]) -> tuple[list[float], list[float]]:
    """Where the pairs lie; those within a mark of each other share it."""
    places = sorted({(_near(each.measured), _near(each.predicted)) for each in found})
    return [x for x, _ in places], [y for _, y in places]


@figure_style()
def gains() -> StaticFigure:
    """Predicted against measured gain of each doubling, Llama-70B."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.7, 2.9))
    (same,) = axes.plot(RANGE, RANGE, "--", color=GREY.light, linewidth=1)
    same.set_label("predicted = measured")
    for degree, ink in reversed(INKS.items()):
        found = by_degree(degree)
        look: dict[str, Any] = {"marker": MARKS[degree], "lw": 0, "ms": 5, "mew": 0}
        name = f"{degree // 2} → {degree} GPUs"
        axes.plot(*_places(found), color=ink.light, alpha=0.7, label=name, **look)
    axes.set_xlabel("measured: times faster on twice the GPUs")
    axes.set_ylabel("predicted: times faster")
    axes.set(xlim=RANGE, ylim=RANGE)
    axes.legend(loc="lower right")
    every = doublings()
    return StaticFigure.of(
        figure,
        name="tensor_parallel.gains",
        title="Each doubling gains less, the last even less than predicted",
        sentence=f"{len(every)} pairs of {num_rows()} measured runs of Llama-70B: "
        f"predicted {mean_error(every):.0%} off on average, by a fit that had not seen "
        "this model. Pairs that lie within a hundredth share a mark. "
        f"In {worse()} pairs the larger group was slower; in the leftmost, predicted "
        "so, the one GPU had room for few of the requests at a time.",
    )


@figure_style()
def degrees(
    title: str, known: Mapping[str, Given], feasible: Sequence[int]
) -> StaticFigure:
    """A bar for each feasible degree: a GPU's own work, then what is not shared out.

    ``known`` holds every argument of ``tp_s``, the chosen degree among them. A degree
    without room for weights and cache is an outline.
    """
    from llmserve_lab.extras import patches
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    names = [f"{tp:g}" for tp in feasible]
    work, beside = (
        [1e3 * float(each.at(known, n_ranks=float(tp))) for tp in feasible]
        for each in (f.RANK_S, f.BESIDE_S)
    )
    brown, grey = MEANINGS["compute"].light, GREY.light
    work_bars = axes.bar(names, work, color=brown)
    rest = axes.bar(names, beside, bottom=work, color=grey)
    for tp, *pair in zip(feasible, work_bars, rest, strict=True):
        if not has_room(known, tp):
            for bar in pair:
                bar.set(fill=False, linestyle="--", edgecolor=grey)
            top = pair[1].get_y() + pair[1].get_height()
            middle = pair[1].get_x() + pair[1].get_width() / 2
            axes.text(middle, top, "no room", ha="center", va="bottom")
    axes.margins(y=0.12)
    axes.set_xlabel("GPUs in the group")
    axes.set_ylabel("time of one iteration (ms)")
    axes.grid(axis="x", visible=False)
    kinds = ("work of each GPU", "overhead")
    axes.legend([patches.Patch(color=each) for each in (brown, grey)], kinds)
    time, gain = (
        si(float(each.at(known)), each.result.unit) for each in (f.TP_S, f.TP_SPEEDUP)
    )
    load = f"{float(known['batch']):,.0f} requests, {float(known['context']):,.0f}"
    fits = "" if has_room(known, float(known["n_ranks"])) else ", had it room"
    return StaticFigure.of(
        figure,
        name="tensor_parallel.bench",
        title="The bench as it opens: time of an iteration by GPUs",
        sentence=f"{title}, {load} tokens in cache each: an iteration takes "
        f"{time}{fits}; it is {gain} times as fast as one GPU with room for the model "
        "would be. A dashed outline has no room.",
    )


def has_room(known: Mapping[str, Given], n_gpus: float) -> bool:
    """Whether weights and cache fit into so many GPUs."""
    held = float(f.RANK_BYTES.at(known, n_ranks=float(n_gpus)))
    return held <= float(known["hbm_bytes"])
