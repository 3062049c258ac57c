"""What the live figures of time draw: bars of work and waiting, and what it gains."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import BoundMark, Marks
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import MEANINGS, SERIES
from llmserve_lab.tensor_parallel import formulas as f

DEGREES = (1, 2, 4, 8, 16)
LABELS_AT = (1.0, 0.8, 0.6, 0.25)
KINDS = Marks(
    BoundMark("work on one rank", f.RANK_S, MEANINGS["compute"]),
    BoundMark("all-reduces", f.LINK_S, MEANINGS["communication"]),
)
TIME = QuantityAxis(q.tp_s, "ms", words="time of one iteration")
BATCH = QuantityAxis(q.batch, words="batch", domain=(1, 4096), log=True)
GAIN = QuantityAxis(
    q.tp_speedup, words="times as fast as one rank", domain=(0.2, 20), log=True
)


def tp_time() -> Any:
    """For each degree a bar: a rank's own work, then what it waits for the links."""
    from llmserve_lab.extras import altair as alt

    first, second = (kind.draw(TIME, n_ranks="datum.n_ranks") for kind in KINDS)
    rows = [{"n_ranks": g, "kind": kind.name} for g in DEGREES for kind in KINDS]
    bars = (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(first=first, second=second)
        .transform_calculate(
            start=f"datum.kind == '{KINDS[0].name}' ? 0 : datum.first",
            end=f"datum.first + (datum.kind == '{KINDS[0].name}' ? 0 : datum.second)",
            chosen="datum.n_ranks == n_ranks ? 1 : 0.55",
        )
    )
    ranks = QuantityAxis(q.n_ranks, words="ranks in the group", ticks={"labelAngle": 0})
    return bars.mark_bar(size=30).encode(
        x=ranks.on("x", "n_ranks", "ordinal"),
        y=TIME.on("y", "start"),
        y2="end",
        color=by_ink("kind", KINDS.inks)["color"],
        opacity=alt.Opacity("chosen", type="quantitative", scale=None, legend=None),
    )


def speedup() -> Any:
    """One line a degree: how much faster than one rank, while the batch grows."""
    lines = [
        Drawn(
            f"{g} ranks",
            f.TP_SPEEDUP,
            ink,
            {"n_ranks": str(g)},
            label_at=at,
            dash=ink.dash,
            rising=True,
        )
        for g, ink, at in zip(DEGREES[1:], SERIES, LABELS_AT, strict=False)
    ]
    return bound_curves(BATCH, GAIN, *lines)
