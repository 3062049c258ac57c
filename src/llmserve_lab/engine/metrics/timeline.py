"""Timeline of iterations: bars as wide as an iteration lasts, as high as its rows.

Rows of prompts are stacked on decodes, and padding on both. A tick above them is the
end of an iteration: where ticks are far apart, all decodes wait (generation stall).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from math import nan
from typing import TYPE_CHECKING, Any

from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREY, INK, VERMILLION
from llmserve_lab.page.still import HEIGHT, WIDTH, StaticFigure, figure_style

if TYPE_CHECKING:
    from llmserve_lab.engine.metrics.iteration_record import IterationRecord

KINDS = (("decodes", BLUE), ("prompt rows", VERMILLION), ("padding", GREY))
FLOOR = 0.5  # rows; on a logarithmic axis the foot of a bar of one row
MOST_PANELS = 6
BEAT = (1.03, 1.09)  # where a tick stands, in heights of the panel
MOST_BEATS = 1_000


@figure_style()
def timeline(
    records: Iterable[IterationRecord],
    *,
    from_s: float = 0.0,
    until_s: float | None = None,
    title: str = "",
) -> StaticFigure:
    """Draw the iterations that lie in the time, a panel for each replica.

    Raises:
        ValueError: nothing happens in that time, or on more than six replicas.
    """
    from llmserve_lab.extras import pyplot as plt

    known = list(records)
    end_s = max((step.end_s for step in known), default=0.0)
    until_s = end_s if until_s is None else until_s
    steps = [s for s in known if s.end_s > from_s and s.start_s < until_s]
    panels = _by_replica(steps)
    if not 1 <= len(panels) <= MOST_PANELS:
        raise ValueError(
            f"log must have 1 to {MOST_PANELS} busy replicas from {from_s} s to "
            f"{until_s} s, got {len(panels)}"
        )
    height = HEIGHT if len(panels) == 1 else 0.6 + 1.5 * len(panels)
    figure, grid = plt.subplots(
        len(panels), 1, sharex=True, squeeze=False, figsize=(WIDTH, height)
    )
    for axes, (name, own) in zip(grid[:, 0], panels.items(), strict=True):
        axes.set_xlim(from_s, until_s)
        _panel(axes, own)
        axes.set_ylabel("rows" if len(panels) == 1 else f"rows, {name}")
    axes.set_xlabel("time (s)")
    handles, labels = _legend(grid[:, 0])
    figure.legend(handles, labels, loc="outside upper right", ncols=len(labels))
    return StaticFigure.of(
        figure, name="engine.timeline", sentence=_sentence(steps), title=title
    )


def _by_replica(steps: list[IterationRecord]) -> dict[str, list[IterationRecord]]:
    """The steps of each replica, by its name."""
    order = sorted(steps, key=lambda s: (s.pool == "decode", s.replica, s.start_s))
    groups = groupby(order, key=lambda step: (step.pool, step.replica))
    return {f"{pool} {number}": list(own) for (pool, number), own in groups}


def _panel(axes: Any, steps: list[IterationRecord]) -> None:
    """Stack the kinds of rows; where nothing runs, nothing stands."""
    edges, places = [steps[0].start_s], list[int | None]()
    for place, step in enumerate(steps):
        if step.start_s > edges[-1]:
            edges.append(step.start_s)
            places.append(None)
        edges.append(step.end_s)
        places.append(place)
    below = [FLOOR] * len(places)
    for (label, ink), rows in zip(KINDS, _heights(steps), strict=True):
        above = [
            max(foot, FLOOR) if place is None else rows[place]
            for place, foot in zip(places, below, strict=True)
        ]
        if above != below:
            axes.stairs(
                above,
                edges,
                baseline=below,
                fill=True,
                color=ink.light,
                label=label,
            )
        below = above
    axes.set_yscale("log")
    axes.set_ylim(FLOOR, max(10.0, 1.3 * max(below)))
    _heartbeat(axes, steps)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _heartbeat(axes: Any, steps: list[IterationRecord]) -> None:
    """A tick where an iteration ends; of very many, some."""
    ends = [
        step.end_s - step.seconds * left
        for step in steps
        for left in range(step.count - 1, -1, -1)
    ]
    from_s, until_s = axes.get_xlim()
    ends = [end for end in ends if from_s <= end <= until_s]
    ends = ends[:: len(ends) // MOST_BEATS + 1]
    axes.plot(
        [x for end in ends for x in (end, end, nan)],
        [*BEAT, nan] * len(ends),
        color=INK.light,
        linewidth=0.6,
        transform=axes.get_xaxis_transform(),
        clip_on=False,
        label="an iteration ends",
    )


def _legend(panels: Any) -> tuple[list[Any], list[str]]:
    """Each label once, whichever panels it stands in."""
    found = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    return list(found.values()), list(found)


def _heights(steps: list[IterationRecord]) -> list[list[float]]:
    """Up to where each kind reaches, of each step."""
    decodes = [max(FLOOR, step.decode_rows) for step in steps]
    real = [max(FLOOR, step.decode_rows + step.prefill_rows) for step in steps]
    return [decodes, real, [max(FLOOR, step.load.rows) for step in steps]]


def _sentence(steps: list[IterationRecord]) -> str:
    longest = max(steps, key=lambda step: step.seconds)
    shortest = min(steps, key=lambda step: step.seconds)
    many = sum(step.count for step in steps)
    return (
        f"{many:,} iterations: the shortest takes {si(shortest.seconds, 's')}, the "
        f"longest {si(longest.seconds, 's')}, with {longest.decode_rows:,} decodes and "
        f"{longest.prefill_rows:,} rows of prompts."
    )
