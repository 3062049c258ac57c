"""What the live figures draw: curves over the ratio, and batches going round."""

from __future__ import annotations

import json
from typing import Any

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.page.gantt import FLIGHTS, LANES
from llmserve_lab.page.live.marks import Curve, by_ink, curves, landmark, log_axis
from llmserve_lab.page.palette import BLUE, GREEN, GREY, VERMILLION, Ink

RATIOS = (2.0, 32.0)
RATIO_TITLE = "Attention instances per FFN instance"
BATCHES = {"batch 1": BLUE, "batch 2": VERMILLION, "batch 3": GREEN}
LOW = 270  # pixels down: below the curves
OVER = {"af_ratio": "datum.af_ratio", "attn_s": "attn_s", "comm_s": "comm_s"}


def _ratio_axis() -> Any:
    from llmserve_lab.extras import altair as alt

    marks: dict[str, Any] = {
        "values": [2, 3, 4, 6, 8, 12, 16, 24, 32],
        "labelExpr": "datum.label",
    }
    return alt.X("af_ratio", **log_axis(RATIO_TITLE, *RATIOS, **marks))


def _along(field: str = "af_ratio") -> Any:
    """The same scale, for what leaves the drawing of the axis to the curves."""
    from llmserve_lab.extras import altair as alt

    kept = log_axis(RATIO_TITLE, *RATIOS)
    return alt.X(field, **{name: kept[name] for name in ("type", "title", "scale")})


def _shade() -> Any:
    """Which is the slowest: the ratios at which it is the FFN are tinted."""
    from llmserve_lab.extras import altair as alt

    low, high = RATIOS
    look: dict[str, Any] = {"dy": 12, "color": GREY.css, "clip": True}
    left: dict[str, Any] = {**look, "align": "left", "dx": 6}
    right: dict[str, Any] = {**look, "align": "right", "dx": -6}
    slower = alt.ExprRef("comm_s > attn_s ? 'wire-bound' : 'Attention-bound'")
    tint = alt.Chart().mark_rect(color=GREY.css, opacity=0.12, clip=True)
    names = (
        alt.Chart().mark_text(text=slower, **left).encode(x=_along("start")),
        alt.Chart().mark_text(text="FFN-bound", **right).encode(x=_along("end")),
    )
    layers = [tint.encode(x=_along(), x2="end:Q")]
    layers += [name.encode(y=alt.value(0)) for name in names]
    row = alt.LayerChart(data=alt.Data(values=[{}]), layer=layers)
    return row.transform_calculate(
        af_ratio=f"max({low}, min({high}, max(ratio_attn, ratio_comm)))",
        start=f"{low}",
        end=f"{high}",
    )


def _percent(title: str, low: float, high: float) -> Any:
    """A vertical axis of shares whose scale stays, whatever is turned."""
    from llmserve_lab.extras import altair as alt

    axis = alt.Axis(format="%", tickCount=5)
    scale = alt.Scale(domain=[low, high], nice=False)
    return alt.Y("value", type="quantitative", title=title, axis=axis, scale=scale)


def throughput() -> Any:
    """What a machine earns over the ratio, with both best ratios marked.

    As a share of what the paper promises at its best ratio.
    """
    from llmserve_lab.extras import altair as alt

    paper, loop = (
        f"{formula.browser(OVER)} / best_tokens_per_s"
        for formula in (f.INSTANCE_TOKENS_PER_S, f.PIPELINE_TOKENS_PER_S)
    )
    return alt.layer(
        _shade(),
        landmark(_along(), "ratio_best", "r*, paper", at=LOW),
        landmark(_along(), "ratio_pipeline", "r*, loop counted", at=LOW + 18),
        curves(
            _ratio_axis(),
            _percent("tokens per second, of the paper's best", 0.4, 1.04),
            RATIOS,
            Curve("paper", paper, GREY, label_at=0.5, dash=(5, 4), rising=True),
            Curve("loop counted", loop, BLUE, label_at=0.8),
        ),
    )


def idle() -> Any:
    """Shares of the time in which either side waits."""
    from llmserve_lab.extras import altair as alt

    return alt.layer(
        _shade(),
        landmark(_along(), "af_ratio", "r"),
        landmark(_along(), "ratio_pipeline", "r*, loop counted", at=16),
        curves(
            _ratio_axis(),
            _percent("share of the time spent waiting", 0, 1),
            RATIOS,
            Curve("Attention", f.IDLE_ATTN.browser(OVER), BLUE, rising=True),
            _down("FFN", f.IDLE_FFN.browser(OVER), VERMILLION),
        ),
    )


def _down(name: str, expr: str, ink: Ink) -> Curve:
    return Curve(name, expr, ink, label_at=0.25, dash=ink.dash)


def rounds(rows: list[dict[str, int]]) -> Any:
    """One lane a machine, and the wire between them: which batch it has, and when."""
    from llmserve_lab.extras import altair as alt

    lanes, batches = json.dumps(LANES), json.dumps([*BATCHES])
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    text = "\n".join(lines)  # half the size of JSON
    bars = (
        alt.Chart(alt.InlineData(values=text, format=alt.CsvDataFormat(type="csv")))
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
