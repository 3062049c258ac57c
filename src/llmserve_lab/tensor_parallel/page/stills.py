"""The chapter's still picture: for a bench, what each degree makes of an iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llmserve_lab.catalog import Given
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.tensor_parallel import formulas as f


@figure_style()
def degrees(
    title: str, known: Mapping[str, Given], feasible: Sequence[int]
) -> StaticFigure:
    """A bar for each feasible degree: a rank's own work, then what it waits for links.

    ``known`` holds every argument of ``tp_s``, the chosen degree among them.
    """
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots()
    names = [f"{tp:g}" for tp in feasible]
    work, wait = (
        [1e3 * each.at(known, n_ranks=float(tp)) for tp in feasible]
        for each in (f.RANK_S, f.LINK_S)
    )
    axes.bar(names, work, color=BLUE.light, label="work on one rank")
    axes.bar(names, wait, bottom=work, color=VERMILLION.light, label="all-reduces")
    axes.set_xlabel("ranks (TP degree)")
    axes.set_ylabel("time of one iteration (ms)")
    axes.grid(axis="x", visible=False)
    axes.legend()
    time, share, gain = (
        si(float(each.at(known)), each.result.unit)
        for each in (f.TP_S, f.LINK_SHARE, f.TP_SPEEDUP)
    )
    return StaticFigure.of(
        figure,
        sentence=f"{title}: an iteration takes {time}, of which the links take a share "
        f"of {share}; it is {gain} times as fast as on one rank.",
    )
