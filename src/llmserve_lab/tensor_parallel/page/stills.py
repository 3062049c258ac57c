"""The chapter's still pictures: predicted against measured gains, and the bench's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llmserve_lab.catalog import Given
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, GREY, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.published import (
    by_degree,
    doublings,
    mean_error,
    num_rows,
)

INKS = {2: BLUE, 4: GREEN, 8: VERMILLION}
MARKS = {2: "o", 4: "s", 8: "^"}


@figure_style()
def gains() -> StaticFigure:
    """Predicted against measured gain of each doubling, Llama-70B."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    axes.plot((1, 2), (1, 2), color=GREY.light, linestyle="--", linewidth=1)
    axes.annotate("predicted = measured", (1.98, 1.83), ha="right", color=GREY.light)
    for degree, ink in INKS.items():
        found = by_degree(degree)
        axes.plot(
            [each.measured for each in found],
            [each.predicted for each in found],
            MARKS[degree],
            color=ink.light,
            markersize=3.5,
            alpha=0.7,
            linestyle="none",
            label=f"{degree // 2} → {degree} GPUs",
        )
    axes.set_xlabel("measured: times faster on twice the GPUs")
    axes.set_ylabel("predicted: times faster")
    axes.set(xlim=(1, 2), ylim=(1, 2))
    axes.legend(loc="upper left")
    every = doublings()
    return StaticFigure.of(
        figure,
        name="tensor_parallel.gains",
        title="Twice the GPUs are less than twice as fast, as predicted",
        sentence=f"{num_rows()} measured runs of Llama-70B on H100, H200 and B200 "
        f"make {len(every)} pairs that differ only in the number of GPUs. The gain in "
        f"time per token is predicted {mean_error(every):.0%} off on average, by a fit "
        "that had not seen this model.",
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
    axes.bar(names, beside, bottom=work, color=GREY.light, label="beside the work")
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
        sentence=f"{title}: an iteration takes {time}; it is {gain} times as fast as "
        "on one GPU with room for the model.",
    )
