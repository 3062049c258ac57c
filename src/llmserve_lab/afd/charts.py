"""What the live figures draw: curves over the ratio, and batches going round."""

from __future__ import annotations

import json
from typing import Any

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.rounds import FLIGHTS, LANES
from llmserve_lab.book.charts import Curve, by_ink, curves, landmark, log_axis
from llmserve_lab.book.palette import BLUE, GREEN, GREY, VERMILLION, Ink

RATIOS = (2.0, 32.0)
RATIO_TITLE = "Attention instances per FFN instance"
BATCHES = {"batch 1": BLUE, "batch 2": VERMILLION, "batch 3": GREEN}
LOW = 270  # pixels down: below the curves
OVER = {"af_ratio": "datum.af_ratio", "attn_s": "attn_s", "comm_s": "comm_s"}


def _ratio_axis(field: str = "af_ratio") -> Any:
    import altair as alt

    marks: dict[str, Any] = {
        "values": [2, 3, 4, 6, 8, 12, 16, 24, 32],
        "labelExpr": "datum.label",
    }
    return alt.X(field, **log_axis(RATIO_TITLE, *RATIOS, **marks))


def _shade(x: Any) -> Any:
    """The ratios at which the FFN is the slowest, tinted, with a name."""
    import altair as alt

    start = f"max({RATIOS[0]}, min({RATIOS[1]}, max(ratio_attn, ratio_comm)))"
    row = alt.Chart(alt.Data(values=[{}])).transform_calculate(
        af_ratio=start, end=str(RATIOS[1])
    )
    tint = row.mark_rect(color=GREY.css, opacity=0.12, clip=True).encode(
        x=x, x2="end:Q"
    )
    look: dict[str, Any] = {"align": "right", "dx": -6, "dy": 12, "color": GREY.css}
    name = row.mark_text(text="FFN-bound", clip=True, **look)
    return alt.layer(tint, name.encode(x=_ratio_axis("end"), y=alt.value(0)))


def throughput() -> Any:
    """Tokens per second and instance over the ratio, with both best ratios marked."""
    import altair as alt

    x = _ratio_axis()
    thousands: dict[str, Any] = {"labelExpr": "format(datum.value, '~s')"}
    thousands["tickCount"] = 5
    title = "tokens per second and instance"
    scale = alt.Scale(zero=False)
    axis = alt.Axis(**thousands)
    y = alt.Y("value", type="quantitative", title=title, axis=axis, scale=scale)
    paper = f.INSTANCE_TOKENS_PER_S.browser(OVER)
    loop = f.PIPELINE_TOKENS_PER_S.browser(OVER)
    return alt.layer(
        _shade(x),
        landmark(x, "ratio_best", "r*, paper", at=LOW),
        landmark(x, "ratio_pipeline", "r*, loop counted", at=LOW + 18),
        curves(
            x,
            y,
            RATIOS,
            Curve("paper", paper, GREY, label_at=0.45, dash=(5, 4), rising=True),
            Curve("loop counted", loop, BLUE, label_at=0.9),
        ),
    )


def idle() -> Any:
    """Shares of the time in which either side waits."""
    import altair as alt

    x = _ratio_axis()
    percent = alt.Axis(format="%", tickCount=5)
    scale = alt.Scale(domain=[0, 1])
    title = "share of the time spent waiting"
    y = alt.Y("value", type="quantitative", title=title, axis=percent, scale=scale)
    return alt.layer(
        _shade(x),
        landmark(x, "af_ratio", "r"),
        landmark(x, "ratio_pipeline", "r*, loop counted", at=16),
        curves(
            x,
            y,
            RATIOS,
            Curve("Attention", f.IDLE_ATTN.browser(OVER), BLUE, rising=True),
            _down("FFN", f.IDLE_FFN.browser(OVER), VERMILLION),
        ),
    )


def _down(name: str, expr: str, ink: Ink) -> Curve:
    return Curve(name, expr, ink, label_at=0.25, dash=ink.dash)


def rounds(rows: list[dict[str, Any]]) -> Any:
    """One lane a machine, and the wire between them: which batch it has, and when."""
    import altair as alt

    lanes, batches = json.dumps(LANES), json.dumps([*BATCHES])
    bars = (
        alt.Chart(alt.Data(values=rows))
        .transform_filter(f"datum.c == bundle * {len(FLIGHTS)} + flight")
        .transform_calculate(lane=f"{lanes}[datum.l]", batch=f"{batches}[datum.b]")
    )
    ticks = alt.Axis(tickCount=6)
    return bars.mark_bar(height=30, clip=True, opacity=0.85).encode(
        x=alt.X("s", type="quantitative", title="time (µs)", axis=ticks),
        x2="e",
        y=alt.Y("lane", type="nominal", title=None, sort=list(LANES)),
        color=by_ink("batch", BATCHES)["color"],
    )
