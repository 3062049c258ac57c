"""The chapter's still pictures: predicted against measured gains, and the bench's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmserve_lab.catalog import Given
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, GREY, VERMILLION
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

    figure, axes = plt.subplots(figsize=(6.4, 3.2))
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
        sentence=f"{num_rows()} measured runs of Llama-70B on H100, H200 and B200 "
        f"make {len(every)} pairs that differ only in the number of GPUs. The gain in "
        f"time per token is predicted {mean_error(every):.0%} off on average, by a fit "
        "that had not seen this model. Pairs that lie within a hundredth share a mark. "
        f"In {worse()} pairs the larger group was slower.",
    )


@figure_style()
def degrees(
    title: str, known: Mapping[str, Given], feasible: Sequence[int]
) -> StaticFigure:
    """A bar for each feasible degree: a GPU's own work, then what is not shared out.

    ``known`` holds every argument of ``tp_s``, the chosen degree among them.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    names = [f"{tp:g}" for tp in feasible]
    work, beside = (
        [1e3 * float(each.at(known, n_ranks=float(tp))) for tp in feasible]
        for each in (f.RANK_S, f.BESIDE_S)
    )
    axes.bar(names, work, color=BLUE.light, label="work of each GPU")
    axes.bar(names, beside, bottom=work, color=GREY.light, label="overhead")
    axes.set_xlabel("GPUs in the group")
    axes.set_ylabel("time of one iteration (ms)")
    axes.grid(axis="x", visible=False)
    axes.legend()
    time, gain = (
        si(float(each.at(known)), each.result.unit) for each in (f.TP_S, f.TP_SPEEDUP)
    )
    return StaticFigure.of(
        figure,
        name="tensor_parallel.bench",
        title="The bench as it opens: time of an iteration by GPUs",
        sentence=f"{title}: an iteration takes {time}; it is {gain} times as fast as "
        "on one GPU with room for the model.",
    )
