"""What the live figures draw: the attention square, and attention's share of work."""

from __future__ import annotations

from typing import Any

from llmserve_lab.book.charts import Curve, curves, landmark, log_axis
from llmserve_lab.book.palette import BLUE, GREY, NARROW, VERMILLION
from llmserve_lab.varlen import formulas as f

LENGTHS = ("len_1", "len_2", "len_3", "len_4")
PROMPTS = (64.0, 1e6)
SIDE = "batch * longest_prompt"  # of the square that a padded batch would make


def square() -> Any:
    """The square that a method lays out, what it computes of it, and what counts.

    Queries run down, keys to the right. ``way`` is 0 padded, 1 masked, 2 varlen.
    """
    import altair as alt

    across = f"({SIDE}) * max(1, width / height)"  # a token is as wide as it is high
    axis: dict[str, Any] = {"grid": False, "tickCount": 5}
    x = alt.X(
        "start:Q", title="keys (tokens)", scale=_up_to(across), axis=alt.Axis(**axis)
    )
    down = _up_to(SIDE, reverse=True)
    y = alt.Y("start:Q", title="queries (tokens)", scale=down, axis=alt.Axis(**axis))
    whole = alt.Chart(alt.Data(values=[{"start": 0}])).transform_calculate(
        end=f"way == 0 ? {SIDE} : batch * mean_prompt"
    )
    outline = whole.mark_rect(
        color=VERMILLION.css,
        fillOpacity={"expr": "way == 1 ? 0.35 : 0"},
        stroke=GREY.css,
        strokeDash=[3, 3],
    )
    box = {"x": x, "y": y, "x2": "end", "y2": "end"}
    computed = _blocks("end").mark_rect(color=VERMILLION.css, fillOpacity=0.35)
    return alt.layer(
        outline.encode(**box),
        computed.encode(**box),
        _triangles().encode(x=x, y=y, y2="real", detail="i:N"),
        _names().encode(x=x, y=y, text="label:N"),
        *_legend(),
    )


def _up_to(expr: str, *, reverse: bool = False) -> Any:
    import altair as alt

    return alt.Scale(
        domainMin=0, domainMax={"expr": expr}, nice=False, reverse=reverse, zero=True
    )


def _blocks(*fields: str, corners: int = 1) -> Any:
    """One row a request (twice for two corners): where its block starts and ends."""
    import altair as alt

    rows = [{"i": i, "corner": c} for i in range(4) for c in range(corners)]
    lengths = f"[{', '.join(LENGTHS)}]"
    before = "+".join(f"(datum.i > {i} ? {n} : 0)" for i, n in enumerate(LENGTHS[:3]))
    ahead = "+".join(
        f"(datum.i > {i} && {n} > 0 ? longest_prompt : 0)"
        for i, n in enumerate(LENGTHS[:3])
    )
    return (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(own=f"{lengths}[datum.i]")
        .transform_filter("datum.own > 0")
        .transform_calculate(start=f"way == 0 ? {ahead} : {before}")
        .transform_calculate(
            end="datum.start + (way == 0 ? longest_prompt : datum.own)",
            real="datum.start + datum.own",
        )
    )


def _triangles() -> Any:
    """The pairs that count: a query sees its own token and those before it."""
    along = "datum.start + datum.corner * datum.own"
    return (
        _blocks(corners=2)
        .transform_calculate(start=along)
        .transform_calculate(real="datum.real")
        .mark_area(color=BLUE.css, fillOpacity=0.85, line=False)
    )


def _names() -> Any:
    """A, B, C, D at the upper right of each block."""
    return (
        _blocks()
        .transform_calculate(label="['A', 'B', 'C', 'D'][datum.i]", start="datum.start")
        .mark_text(dx=10, dy=-2, baseline="bottom", fontWeight="bold", color=GREY.css)
    )


def _legend() -> list[Any]:
    """Two lines in their own inks: at the upper right, on a phone at the lower left."""
    import altair as alt

    narrow = f"width < {NARROW}"
    corner: dict[str, Any] = {
        "x": {"expr": f"{narrow} ? 8 : width - 4"},
        "align": {"expr": f"{narrow} ? 'left' : 'right'"},
    }
    lines = {"useful": BLUE, "computed for nothing": VERMILLION}
    return [
        alt.Chart(alt.Data(values=[{}])).mark_text(
            text=text,
            color=ink.css,
            y={"expr": f"{12 + 18 * row} + ({narrow} ? height - 40 : 0)"},
            fontWeight="bold",
            **corner,
        )
        for row, (text, ink) in enumerate(lines.items())
    ]


def share() -> Any:
    """Attention's share of the FLOPs as the prompt grows, and where it is a half."""
    import altair as alt

    x = alt.X("prompt", **log_axis("prompt of the average row (tokens)", *PROMPTS))
    y = alt.Y(
        "value",
        type="quantitative",
        title="share of FLOPs in attention",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%"),
    )
    line = Curve(
        "attention",
        f.ATTN_SHARE.browser(
            {
                "batch": "1",
                "mean_prompt": "datum.prompt",
                "mean_square_prompt": "pow(datum.prompt, 2)",
            }
        ),
        BLUE,
        label_at=0.3,
        rising=True,
    )
    return alt.layer(
        landmark(x, "overtake_prompt", "half"),
        landmark(x, "row_prompt", "this batch", at=16),
        curves(x, y, PROMPTS, line),
    )
