"""What the other live figures draw: a curve, a matrix, and bars for layouts."""

from __future__ import annotations

from typing import Any

from llmserve_lab.moe import formulas as f
from llmserve_lab.page.live.marks import Curve, by_ink, curves, landmark, log_axis
from llmserve_lab.page.palette import BLUE, GREEN, GREY, INK, VERMILLION

RANKS = 8
MOST = 1.1  # of the bytes of TP alone: no layout on offer sends more than 1
ROWS = (1.0, 4096.0)
HALVES = {"attention": GREEN, "experts": VERMILLION}
LAYOUTS = {
    "TP": ("ffn_tp_bytes", "ffn_tp_bytes"),
    "EP, a copy an expert": ("0", "ep_copies_bytes"),
    "EP, a copy a rank": ("0", "ep_bytes"),
    "TP × EP × SP": ("sp_bytes", "ep_bytes"),
}


def touched() -> Any:
    """Distinct experts against rows, and what they would be if no two rows met."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("n", **log_axis("rows in the batch", *ROWS))
    y = alt.Y("value", **log_axis("experts touched", 1, 1000))
    here = f.TOUCHED_EXPERTS.browser({"n_rows": "datum.n"})
    lines = (
        Curve("touched", here, BLUE, label_at=0.85),
        Curve(
            "all different",
            "top_k * datum.n",
            GREY,
            label_at=0.5,
            dash=(4, 4),
            rising=True,
        ),
    )
    return alt.layer(
        landmark(y, "n_experts", "all experts"),
        landmark(x, "n_rows", "your batch"),
        curves(x, y, ROWS, lines[0]),
        curves(x, y, (1.0, 64.0), lines[1]),
    )


def traffic() -> Any:
    """Bytes from every rank to every rank; rows are alike, so one has numbers."""
    from llmserve_lab.extras import altair as alt

    cells = alt.Chart()
    hot, shown = "datum.to == 0", "format({}, width < 400 ? '.2~s' : '.3~s')"
    words = [shown.format(name) for name in ("hot_bytes", "cold_bytes")]
    axis = alt.Axis(labelAngle=0, grid=False)
    x = alt.X("to:O", title="to rank (bytes)", axis=axis)
    y = alt.Y("from_:O", title="from rank", axis=axis)
    inks = alt.Scale(domain=["at home", "sent"], range=[GREY.css, VERMILLION.css])
    boxes = cells.mark_rect().encode(
        color=alt.Color("kind:N", scale=inks, legend=None),
        opacity=alt.Opacity("shade:Q", scale=None, legend=None),
    )
    size = alt.expr("width < 400 ? 8 : 11")
    names = cells.transform_filter(f"datum.i < {RANKS}").mark_text(
        color=INK.css, fontSize=size
    )
    names = names.encode(text="text:N")
    rows = alt.LayerChart(
        data=alt.sequence(0, RANKS**2, as_="i"), layer=[boxes, names], height=280
    )
    return (
        rows.transform_calculate(
            to=f"datum.i % {RANKS}", from_=f"floor(datum.i / {RANKS})"
        )
        .transform_calculate(
            kind="datum.to == datum.from_ ? 'at home' : 'sent'",
            shade=f"0.7 * ({hot} ? 1 : cold_bytes / max(hot_bytes, 1))",
            text=f"{hot} ? {words[0]} : {words[1]}",
        )
        .encode(x=x, y=y)
    )


def layouts() -> Any:
    """For every layout what leaves a rank around attention, then around experts."""
    from llmserve_lab.extras import altair as alt

    parts = [
        (name, half, start, length)
        for name, (attention, experts) in LAYOUTS.items()
        for half, start, length in (
            ("attention", "0", attention),
            ("experts", attention, experts),
        )
    ]
    rows = [{"i": i, "layout": p[0], "half": p[1]} for i, p in enumerate(parts)]
    start, length = (
        f"[{', '.join(part[column] for part in parts)}][datum.i]" for column in (2, 3)
    )
    return (
        alt.Chart(alt.Data(values=rows), height=200)
        .transform_calculate(start=f"{start} / tp_block_bytes")
        .transform_calculate(end=f"datum.start + {length} / tp_block_bytes")
        .mark_bar(height=26, clip=True)
        .encode(
            x=alt.X(
                "start",
                type="quantitative",
                title="bytes leaving a rank, TP = 100%",
                scale=alt.Scale(domain=[0, MOST], nice=False),
                axis=alt.Axis(tickCount=5, format="%"),
            ),
            x2="end",
            y=alt.Y("layout", type="nominal", sort=None, title=None),
            color=by_ink("half", HALVES)["color"],
        )
    )
