"""What the live figures of time draw: bars of work and waiting, and what it gains."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.live.marks import Curve, by_ink, curves, log_axis
from llmserve_lab.page.palette import BLUE, SERIES, VERMILLION
from llmserve_lab.tensor_parallel import formulas as f

DEGREES = (1, 2, 4, 8, 16)
BATCHES = (1.0, 4096.0)
LABELS_AT = (1.0, 0.8, 0.6, 0.25)
KINDS = {"work on one rank": BLUE, "all-reduces": VERMILLION}


def tp_time() -> Any:
    """For each degree a bar: a rank's own work, then what it waits for the links."""
    from llmserve_lab.extras import altair as alt

    here = {"n_ranks": "datum.g"}
    work, link = f.RANK_S.browser(here), f.LINK_S.browser(here)
    rows = [{"g": g, "kind": kind} for g in DEGREES for kind in KINDS]
    first = f"datum.kind == '{next(iter(KINDS))}'"
    bars = (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(work=f"1e3 * ({work})", link=f"1e3 * ({link})")
        .transform_calculate(
            start=f"{first} ? 0 : datum.work",
            end=f"{first} ? datum.work : datum.work + datum.link",
            chosen="datum.g == n_ranks ? 1 : 0.55",
        )
    )
    return bars.mark_bar(size=30).encode(
        x=alt.X("g:O", title="ranks (TP degree)", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("start", type="quantitative", title="time of one iteration (ms)"),
        y2="end",
        color=by_ink("kind", KINDS)["color"],
        opacity=alt.Opacity("chosen", type="quantitative", scale=None, legend=None),
    )


def speedup() -> Any:
    """One line a degree: how much faster than one rank, while the batch grows."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("batch", **log_axis("requests in the batch", *BATCHES))
    y = alt.Y("value", **log_axis("times as fast as one rank", 0.2, 20))
    lines = [
        Curve(
            f"{g} ranks",
            f.TP_SPEEDUP.browser({"batch": "datum.batch", "n_ranks": str(g)}),
            ink,
            label_at=at,
            dash=ink.dash,
            rising=True,
        )
        for g, ink, at in zip(DEGREES[1:], SERIES, LABELS_AT, strict=False)
    ]
    return curves(x, y, BATCHES, *lines)
