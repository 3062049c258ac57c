"""What the live figures draw: bars of work and waiting, and a block, step by step."""

from __future__ import annotations

from typing import Any

from llmserve_lab.book.charts import Curve, by_ink, curves, log_axis
from llmserve_lab.book.palette import BLUE, GREEN, INK, SERIES, VERMILLION
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.block import STRATEGIES
from llmserve_lab.tensor_parallel.steps import Step, shown

DEGREES = (1, 2, 4, 8, 16)
BLOCK_DEGREES = (1, 2, 4, 8)
BATCHES = (1.0, 4096.0)
LABELS_AT = (1.0, 0.8, 0.6, 0.25)
KINDS = {"work on one rank": BLUE, "all-reduces": VERMILLION}


def tp_time() -> Any:
    """For each degree a bar: a rank's own work, then what it waits for the links."""
    import altair as alt

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
    import altair as alt

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


def _rows() -> list[dict[str, Any]]:
    """Every step of every arrangement, as executed: what the picture shows of it."""
    batch = article.batch()
    return [
        _row(step, place, which, degree)
        for which, name in enumerate(STRATEGIES)
        for degree, tp in enumerate(BLOCK_DEGREES)
        for place, step in enumerate(article.execute(name, tp, batch).steps[0])
    ]


def _row(step: Step, place: int, strategy: int, degree: int) -> dict[str, Any]:
    shapes = f"{shown(step.taken)} → {shown(step.given)}"
    if step.weight:
        shapes = f"W {shown(step.weight)}  {shapes}"
    return {
        "s": strategy,
        "t": degree,
        "i": place,
        "n": ("★ " if step.is_collective else "") + step.name,
        "w": step.given[1],
        "x": shapes,
    }


def block() -> Any:
    """The steps of a block from top to bottom, each with the shapes on one rank."""
    import altair as alt

    data = alt.Chart(alt.Data(values=_rows())).transform_filter(
        "datum.s == strategy && datum.t == tp"
    )
    starred = "datum.n[0] == '★'"
    y = alt.Y("i:O", axis=None)
    width = alt.X("w:Q", title="numbers held for each token, after the step")
    color: Any = alt.condition(starred, alt.value(VERMILLION.css), alt.value(GREEN.css))
    ink = alt.condition(starred, alt.value(VERMILLION.css), alt.value(INK.css))
    bars = data.mark_bar(opacity=0.22, height=19).encode(x=width, y=y, color=color)
    text: dict[str, Any] = {
        "baseline": "middle",
        "fontSize": alt.expr("width < 400 ? 9.5 : 13"),
    }
    names = data.mark_text(align="left", x=4, **text)
    shapes = data.mark_text(align="right", x=alt.expr("width - 2"), **text)
    return alt.layer(
        bars,
        names.encode(y=y, text="n:N", color=ink),
        shapes.encode(y=y, text="x:N", color=ink),
        height=15 * 24,
    )
