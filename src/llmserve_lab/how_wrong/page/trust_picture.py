"""The picture of trust: mean errors by what is new about a server."""

from __future__ import annotations

import numpy as np

from llmserve_lab.how_wrong import fairness
from llmserve_lab.how_wrong.page import (
    blind_table,
    dense_blind,
    expert_tables,
    twin_blind,
)
from llmserve_lab.how_wrong.record import row_errors
from llmserve_lab.page.palette import SERIES
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.validation import dense_rows

# What may be new about a server, and the label that is then left out of the fit.
CASES = {
    "a load": "",
    "a server": "server",
    "a kind of GPU": "system",
    "a model": "model",
    "an engine": "engine",
}
TRIED = {"left out of the fit": SERIES[0], "blind": SERIES[1]}


@figure_style()
def trust() -> StaticFigure:
    """Mean errors by what is new about a server: left out of a fit, and blind."""
    from llmserve_lab.extras import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.4, 2.25))
    names = (f"new: {each}" for each in [*CASES][1:])
    left = dict(zip(names, left_out_means(), strict=True))
    lines = left | blind_means()
    for place, (name, mean) in enumerate(lines.items()):
        how = [*TRIED][name not in left]
        label = how if place in (0, len(left)) else ""
        axes.barh(-place, mean, 0.62, color=TRIED[how].light, label=label)
        axes.text(mean + 0.4, -place, f"{mean:.1f}", va="center")
    axes.set(xlim=(0, 41), ylim=(0.5 - len(lines), 0.5), xlabel="mean error (%)")
    axes.set_yticks(range(0, -len(lines), -1), list(lines))
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower center", ncols=2, bbox_to_anchor=(0.3, 1.0), handlelength=1)
    blind = blind_means().values()
    return StaticFigure.of(
        figure,
        sentence=(
            f"Upper lines: TPOT of all {len(dense_rows())} rows of dense models, with "
            "what is new kept out of the fit. Lower lines: the times that are named."
        ),
        title=(
            f"TPOT of a dense server left out of the fit: {min(left.values()):.0f} to "
            f"{max(left.values()):.0f} % off. Blind, other times: "
            f"{min(blind):.0f} to {max(blind):.0f} %"
        ),
        name="how_wrong.trust",
    )


def left_out_means() -> list[float]:
    """Mean errors of TPOT over all dense rows, in per cent, by what was left out."""
    return [mean for mean, _ in trusted()[1:]]


def blind_means() -> dict[str, float]:
    """Mean errors of what was predicted blind, in per cent."""
    alone = blind_table.means("fitted")
    best, worst = expert_tables.span()
    found = {
        "twin, decode steps": twin_blind.score().mean_error,
        "one GPU, decode steps": alone["decode"],
        "mixtures, TPOT, best trial": best,
        "mixtures, TPOT, worst trial": worst,
        "dense, whole answers": dense_blind.score()["mean"],
        "one GPU, whole prompts": alone["prompt"],
    }
    return {name: 100 * mean for name, mean in found.items()}


def trusted() -> list[tuple[float, float]]:
    """Line by line: mean error of TPOT, and that of the worst server, in per cent."""
    runs = fairness.between_runs("both")
    sizes = [(runs.servers, runs.after)]
    servers = tuple(row.server for row in dense_rows())
    for label in filter(None, CASES.values()):
        sizes.append((servers, np.abs(row_errors("tpot", label))))
    return [
        (100 * float(size.mean()), 100 * fairness.worst_server(label, size))
        for label, size in sizes
    ]
