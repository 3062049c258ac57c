"""What the live figures draw: the attention square, and attention's share of work."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import BoundMark, Landmark, Marks, landmarks
from llmserve_lab.page.palette import GREY, NARROW, SERIES
from llmserve_lab.varlen import formulas as f

LENGTHS = ("len_1", "len_2", "len_3", "len_4")
PROMPT = QuantityAxis(
    q.row_prompt, words="prompt of the average row", domain=(64, 1e6), log=True
)
USEFUL, WASTED = COMPUTED = Marks(
    BoundMark("useful", f.USEFUL_PAIRS, SERIES[0]),
    BoundMark("computed for nothing", f.WASTED_PAIRS, SERIES[1]),
)
SIDE = "batch * longest_prompt"  # of the square that a padded batch would make
# The axes grow by leaps of √2: a square is seen to grow, and few steps redraw ticks.
TRIANGLE = "M-1,-1L-1,1L1,1Z"  # below the diagonal of a square of side 2
SHOWN = f"pow(2, ceil(2 * log({SIDE}) / LN2 - 1e-9) / 2)"


def square() -> Any:
    """The square that a method lays out, what it computes of it, and what counts.

    Queries run down, keys to the right. ``way`` is 0 padded, 1 masked, 2 varlen.
    """
    from llmserve_lab.extras import altair as alt

    quiet = {"grid": False, "tickCount": 5}
    across = f"({SHOWN}) * max(1, width / height)"  # a token is as wide as it is high
    keys = QuantityAxis(q.n_rows, words="keys, one for each row", ticks=quiet)
    queries = QuantityAxis(q.n_rows, words="queries, one for each row", ticks=quiet)
    x = keys.on("x", "start").scale(_up_to(across))
    y = queries.on("y", "start").scale(_up_to(SHOWN, reverse=True))
    box = {"x": x, "y": y, "x2": "end", "y2": "end"}
    whole = alt.Chart(alt.Data(values=[{"start": 0}])).transform_calculate(
        end=f"way == 0 ? {SIDE} : batch * mean_prompt"
    )
    outline = whole.mark_rect(
        color=WASTED.ink.css,
        fillOpacity={"expr": "way == 1 ? 0.35 : 0"},
        stroke=GREY.css,
        strokeDash=[3, 3],
    )
    return alt.layer(outline.encode(**box), _blocks(box), *_legend())


def starts() -> dict[str, str]:
    """Where each request begins: after those before it, padded or as long as they are.

    An expression for each length, by its name.
    """
    found = {}
    for i, name in enumerate(LENGTHS):
        padded = "+".join(f"({n} > 0 ? longest_prompt : 0)" for n in LENGTHS[:i])
        found[name] = f"way == 0 ? {padded or 0} : {'+'.join(LENGTHS[:i]) or 0}"
    return found


def _up_to(expr: str, *, reverse: bool = False) -> Any:
    from llmserve_lab.extras import altair as alt

    return alt.Scale(
        domainMin=0, domainMax={"expr": expr}, nice=False, reverse=reverse, zero=True
    )


def _blocks(box: dict[str, Any]) -> Any:
    """For each request what is computed, its name, and the triangle that counts."""
    from llmserve_lab.extras import altair as alt

    one = alt.Chart()
    computed = one.mark_rect(color=WASTED.ink.css, fillOpacity=0.35).encode(**box)
    names = one.mark_text(
        dx=10, dy=-2, baseline="bottom", fontWeight="bold", color=GREY.css
    ).encode(x=box["x"], y=box["y"], text="name:N")
    useful = (  # a query sees its own token and those before it
        one.transform_calculate(start="datum.start + datum.own / 2")
        .mark_point(shape=TRIANGLE, color=USEFUL.ink.css, opacity=0.85, filled=True)
        .encode(
            x=box["x"],
            y=box["y"],
            size=alt.Size("pixels:Q", scale=None, legend=None),
        )
    )
    rows = [{"i": i, "name": name} for i, name in enumerate("ABCD")]
    starts = ", ".join(f"{name}_start" for name in LENGTHS)
    return (
        alt.layer(computed, useful, names, data=alt.Data(values=rows))
        .transform_calculate(own=f"[{', '.join(LENGTHS)}][datum.i]")
        .transform_filter("datum.own > 0")
        .transform_calculate(start=f"[{starts}][datum.i]")
        .transform_calculate(
            end="datum.start + (way == 0 ? longest_prompt : datum.own)",
            pixels=f"pow(datum.own * height / ({SHOWN}), 2)",
        )
    )


def _legend() -> list[Any]:
    """Two lines in their own inks: at the upper right, on a phone at the lower left."""
    from llmserve_lab.extras import altair as alt

    narrow = f"width < {NARROW}"
    corner: dict[str, Any] = {
        "x": {"expr": f"{narrow} ? 8 : width - 4"},
        "align": {"expr": f"{narrow} ? 'left' : 'right'"},
    }
    return [
        alt.Chart(alt.Data(values=[{}])).mark_text(
            text=mark.name,
            color=mark.ink.css,
            y={"expr": f"{12 + 18 * row} + ({narrow} ? height - 40 : 0)"},
            fontWeight="bold",
            **corner,
        )
        for row, mark in enumerate(COMPUTED)
    ]


def share() -> Any:
    """Attention's share of the FLOPs as the prompt grows, and where it is a half."""
    from llmserve_lab.extras import altair as alt

    y = QuantityAxis(q.attn_share, words="share of FLOPs in attention", domain=(0, 1))
    row = {"mean_prompt": "datum.row_prompt"}
    at = row | {"batch": "1", "mean_square_prompt": "pow(datum.row_prompt, 2)"}
    line = Drawn("attention", f.ATTN_SHARE, SERIES[0], at, label_at=0.3, rising=True)
    return alt.layer(
        *landmarks(
            PROMPT,
            "x",
            "row_prompt",
            Landmark("attention overtakes", q.overtake_prompt),
            Landmark("this row", q.row_prompt, down=16),
        ),
        bound_curves(PROMPT, y, line),
    )
