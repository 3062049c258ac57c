"""What the live figure draws: curves over the ratio."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.afd import formulas as f
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import BoundMark, Landmark, Larger, landmarks
from llmserve_lab.page.palette import GREY, SERIES

RATIOS = (1.0, 64.0)
MARKS: dict[str, Any] = {
    "values": [1, 2, 4, 8, 16, 32, 64],
    "labelExpr": "datum.label",
}
RATIO = QuantityAxis(q.af_ratio, domain=RATIOS, log=True, ticks=MARKS)
SECONDS = QuantityAxis(q.pipeline_s)
WIDE = 2.0  # a band of ratios with room for its name: its end over its begin
LOW = 270  # pixels down: below the curves
MIDDLE = 235  # pixels down: below the curves, where they are not low
TIMES = {"attn_s": "attn_s", "comm_s": "comm_s"}
FEW: dict[str, Any] = {"tickCount": 5}
LOOP = Landmark("best r, loop", q.ratio_pipeline, down=16)
SLOWER = Larger(
    BoundMark("Attention", q.attn_s), BoundMark("wire", q.comm_s), "{}-bound"
)


def _along(data: str) -> Any:
    """The same scale, for what leaves the drawing of the axis to the curves."""
    return RATIO.on("x", data, bare=True)


def _shade() -> Any:
    """Which sets the pace: blue where it is the loop, grey where it is the FFN."""
    from llmserve_lab.extras import altair as alt

    low, high = RATIOS
    look: dict[str, Any] = {"dy": 12, "color": GREY.css, "clip": True}
    left: dict[str, Any] = {**look, "align": "left", "dx": 6}
    right: dict[str, Any] = {**look, "align": "right", "dx": -6}
    slower = alt.ExprRef(SLOWER.expression(SECONDS))
    tint = alt.Chart().mark_rect(color=GREY.css, opacity=0.12, clip=True)
    loop = alt.Chart().mark_rect(color=SERIES[0].css, opacity=0.12, clip=True)
    wide = f"datum.af_ratio > {WIDE} * datum.begins"
    names = (
        alt.Chart().mark_text(text=slower, **left).encode(x=_along("start")),
        alt.Chart().mark_text(text="FFN-bound", **right).encode(x=_along("end")),
        alt.Chart()
        .mark_text(text="loop-bound", **left | {"dy": MIDDLE})
        .transform_filter(wide)
        .encode(x=_along("begins")),
    )
    layers = [
        tint.encode(x=_along("af_ratio"), x2="end:Q"),
        loop.encode(x=_along("begins"), x2="af_ratio:Q"),
    ]
    layers += [name.encode(y=alt.value(0)) for name in names]
    row = alt.LayerChart(data=alt.Data(values=[{}]), layer=layers)
    balance = (RATIO.reads(each) for each in (q.ratio_attn, q.ratio_comm, q.ratio_end))
    return row.transform_calculate(
        af_ratio=f"max({low}, min({high}, max({', '.join(balance)})))",
        start=f"{low}",
        end=f"{high}",
    ).transform_calculate(
        begins=f"max({low}, min(datum.af_ratio, {RATIO.reads(q.ratio_start)}))",
    )


def _places(*places: Landmark) -> Any:
    """Ratios at which something happens."""
    return landmarks(RATIO, "x", "af_ratio", *places, bare=True)


def throughput() -> Any:
    """What a machine earns over the ratio, with both best ratios marked.

    As a share of what the paper promises at its best ratio.
    """
    from llmserve_lab.extras import altair as alt

    y = QuantityAxis(
        q.instance_tokens_per_s,
        words="tokens/s of a machine, of the paper's best",
        of=q.best_tokens_per_s,
        domain=(0, 1.08),
        ticks=FEW,
    )
    look: dict[str, Any] = {"label_at": 0.475, "dash": (5, 4), "rising": True}
    bends = tuple(RATIO.reads(each) for each in (q.ratio_start, q.ratio_end))
    return alt.layer(
        _shade(),
        *_places(
            Landmark("best r, paper", q.ratio_best, down=LOW),
            replace(LOOP, down=LOW + 18, left=True),
        ),
        bound_curves(
            RATIO,
            y,
            Drawn(
                "loop counted",
                f.PIPELINE_TOKENS_PER_S,
                SERIES[0],
                TIMES,
                label_at=0.525,
                corners=bends,
            ),
            Drawn(
                "paper",
                f.INSTANCE_TOKENS_PER_S,
                GREY,
                TIMES,
                corners=(RATIO.reads(q.ratio_best),),
                **look,
            ),
        ),
    )
