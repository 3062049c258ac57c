"""What the live figure of the block draws: its steps, and one of them on every rank."""

from __future__ import annotations

from functools import cache
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.palette import INK, MEANINGS
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel.block import STRATEGIES
from llmserve_lab.tensor_parallel.steps import RankStep, shown

DEGREES = (1, 2, 4, 8)
STEPS = (
    "input",
    "first norm",
    "QKV projection",
    "attention",
    "exchange of heads",
    "output projection",
    "exchange after it",
    "first residual",
    "second norm",
    "FFN up",
    "GeLU",
    "exchange of features",
    "FFN down",
    "exchange after that",
    "second residual",
)
ONLY_A = ("exchange of heads", "exchange of features")  # B takes a part as it is
HELD = (
    "the whole row, like all others",
    "its own slice of the row",
    "a part of every sum",
    "the whole row, now that all have sent",
)
HELD_AXIS = QuantityAxis(
    q.d_model,
    words="width held of each row, after the step",
    ticks={"grid": False, "tickCount": 5},
)
SENT, ROWS_INK = MEANINGS["communication"], MEANINGS["new"]
EXCHANGE = "datum.k == 3"
TOP, RANKS = len(STEPS) + 0.6, 8.0  # in rows: where the ranks begin, and their height


@cache
def rows() -> tuple[dict[str, Any], ...]:
    """Every step of every arrangement, as executed: what the picture shows of it."""
    batch, found = article.batch(), []
    for which, name in enumerate(STRATEGIES):
        there = [i for i, step in enumerate(STEPS) if not (which and step in ONLY_A)]
        whole = article.execute(name, 1, batch).steps[0]
        for degree, tp in enumerate(DEGREES):
            cut = article.execute(name, tp, batch).steps[0]
            found += [
                {"s": which, "t": degree, "i": i, **_row(step, uncut)}
                for i, step, uncut in zip(there, cut, whole, strict=True)
            ]
    return tuple(found)


def _row(step: RankStep, uncut: RankStep) -> dict[str, Any]:
    shapes = f"{shown(step.taken)} → {shown(step.given)}"
    kind = int(step.given[1] < uncut.given[1])
    if step.remark == "partial sum":
        kind = 2
    return {
        "n": ("★ " if step.is_collective else "") + step.name,
        "w": step.given[1],
        "x": f"W {shown(step.weight)}  {shapes}" if step.weight else shapes,
        "k": 3 if step.is_collective else kind,
    }


def block() -> Any:
    """Above, the steps with the shapes on one rank; below, one step on every rank."""
    from llmserve_lab.extras import altair as alt

    steps = alt.Chart().transform_calculate(top="datum.i", bottom="datum.i + 0.9")
    ranks = (
        alt.Chart()
        .transform_filter("datum.i == step")
        .transform_calculate(r="sequence(n_ranks)")
        .transform_flatten(["r"])
        .transform_calculate(
            from_="datum.k == 1 ? datum.r * datum.w : 0",
            top=f"{TOP} + datum.r * {RANKS} / n_ranks",
            n="'rank ' + datum.r",
            x=f"{list(HELD)}[datum.k]",
        )
        .transform_calculate(
            to="datum.from_ + datum.w", bottom=f"datum.top + {RANKS - 0.8} / n_ranks"
        )
    )
    return alt.layer(
        _bars(steps, "zero", "w"),
        *_texts(steps),
        _bars(ranks, "from_", "to"),
        *_texts(ranks),
        data=alt.Data(values=list(rows())),
        height=21 * (TOP + RANKS),
    ).transform_filter("datum.s == strategy && datum.t == tp")


def _bars(data: Any, start: str, end: str) -> Any:
    """Rows held for each token, the chosen step darker; exchanges in their own ink."""
    from llmserve_lab.extras import altair as alt

    x = HELD_AXIS.on("x", start)
    ink = alt.condition(EXCHANGE, alt.value(SENT.css), alt.value(ROWS_INK.css))
    chosen = alt.condition("datum.i == step", alt.value(0.5), alt.value(0.2))
    return (
        data.transform_calculate(zero="0")
        .mark_rect()
        .encode(x=x, x2=end, y=_down("top"), y2="bottom", color=ink, opacity=chosen)
    )


def _texts(data: Any) -> list[Any]:
    """The name at the left, the shapes at the right."""
    from llmserve_lab.extras import altair as alt

    ink = alt.condition(EXCHANGE, alt.value(SENT.css), alt.value(INK.css))
    size = alt.expr("width < 400 ? 9.5 : 13")
    middle = data.transform_calculate(mid="(datum.top + datum.bottom) / 2")
    return [
        middle.mark_text(baseline="middle", fontSize=size, **place).encode(
            y=_down("mid"), text=f"{field}:N", color=ink
        )
        for field, place in (
            ("n", {"align": "left", "x": 4}),
            ("x", {"align": "right", "x": alt.expr("width - 2")}),
        )
    ]


def _down(field: str) -> Any:
    from llmserve_lab.extras import altair as alt

    scale = alt.Scale(domain=[0, TOP + RANKS], reverse=True, nice=False)
    return alt.Y(f"{field}:Q", axis=None, scale=scale)
