"""Measured servers: tokens for all against time for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.page.palette import BLUE, GREY, INK
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.machine import (
    BATCH,
    bound_s,
    measured_batches,
    most_that_fit,
    terms,
)
from llmserve_lab.roofline.measured import MeasuredServer, served
from llmserve_lab.running_example import ideal

SEEN: dict[int, tuple[int, int]] = {32: (8, -13), 128: (6, -1)}


@figure_style()
def trade() -> StaticFigure:
    """Tokens per second of all against milliseconds per token, batch by batch."""
    import numpy as np

    from llmserve_lab.extras import pyplot as plt

    full, (_, most) = most_that_fit(), measured_batches()
    knee = round(float(f.RIDGE_ROWS.at(ideal())))
    corners = {BATCH, most, knee, full}
    batches = {int(b) for b in np.unique(np.geomspace(1, full, 40).round())} | corners
    bound = {b: bound_s(b) for b in batches}
    fit = {b: sum(terms(b).values()) for b in batches}
    measured = {each.row.clients: each.row.tpot_s for each in servers_by_size()}
    unseen = {each.row.clients: each.predicted_s for each in servers_by_size()}
    figure, axes = plt.subplots(figsize=(4.4, 2.45))
    _along(axes, bound, label="bound (datasheet)", color=GREY.light, lw=2.2, ls="-")
    low = {b: s for b, s in fit.items() if b <= most}
    high = {b: s for b, s in fit.items() if b >= most}
    blue: dict[str, Any] = {"color": BLUE.light, "lw": 2.2}
    _along(axes, low, label="decodes alone (fitted)", ls="-", **blue)
    _along(axes, high, label="decodes alone, extrapolated", ls=(0, (3, 2)), **blue)
    thin: dict[str, Any] = {"color": INK.light, "lw": 1.2, "ls": "-"}
    _along(axes, unseen, label="with prompts (fitted)", **thin)
    dots: dict[str, Any] = {"color": INK.light, "lw": 0, "marker": "o", "ms": 6}
    _along(axes, measured, label="measured servers", **dots)
    _named(axes, bound, {BATCH: (-17, -2), knee: (-8, 6), full: (-8, 6)}, GREY.light)
    _named(axes, fit, {full: (-10, 6)}, BLUE.light)
    _named(axes, measured, SEEN, INK.light)
    axes.set_xlim(0, 1.08e3 * fit[full])
    axes.set_ylim(0, 1.12 * full / bound[full])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("milliseconds from token to token, for each request")
    axes.set_ylabel("tokens a second, all")
    figure.legend(loc="outside lower center", ncols=2, fontsize=9)
    later = sorted(b for b, seconds in measured.items() if seconds > fit_at(b))
    return StaticFigure.of(
        figure,
        name="roofline.trade",
        title="A larger batch: more tokens for all, slower ones for each",
        sentence=(
            f"By the bound throughput ends at {knee} requests; as served {full} would "
            "get "
            f"{round(full / fit[full], -3):,.0f} tokens a second together, one each "
            f"every {1e3 * fit[full]:.0f} ms. Measured servers read prompts in "
            f"between: from {later[0]} requests on their tokens come later than on "
            "the blue line, which only decodes. The thin line predicts them with "
            "their prompts, by the fit that had not seen this model."
        ),
    )


def fit_at(batch: int) -> float:
    """Fitted seconds of a decode iteration with the cache of the measured servers."""
    context = round(served()[0].context)
    return sum(terms(batch, context).values())


def servers_by_size() -> list[MeasuredServer]:
    """The measured servers, the smallest batch first."""
    return sorted(served(), key=lambda each: each.row.clients)


def _along(axes: Any, seconds: Mapping[int, float], **look: Any) -> None:
    """A line through batches: time of a token against tokens a second of all."""
    sizes = sorted(seconds)
    across = [1e3 * seconds[size] for size in sizes]
    axes.plot(across, [size / seconds[size] for size in sizes], **look)


def _named(
    axes: Any,
    seconds: Mapping[int, float],
    where: Mapping[int, tuple[int, int]],
    ink: str,
) -> None:
    """Dots on a line, called by their number of requests."""
    for size, beside in where.items():
        at = (1e3 * seconds[size], size / seconds[size])
        axes.plot(*at, marker="o", color=ink, ms=4.5)
        look: dict[str, Any] = {"xytext": beside, "textcoords": "offset points"}
        axes.annotate(f"{size}", at, color=ink, size=9, **look)
