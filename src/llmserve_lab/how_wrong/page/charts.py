"""What the live figures draw: errors of all rows, and a ladder with switches."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.page.controls import KINDS, LEFT, QUARTER
from llmserve_lab.how_wrong.record import chosen, row_errors
from llmserve_lab.page.palette import GREY, INK, SERIES, Ink
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.rows import dense_rows

MODEL_INKS: dict[str, Ink] = {
    "llama-3-8b": SERIES[2],
    "qwen3-32b": SERIES[1],
    "llama-3-70b": SERIES[0],
}
# Axes of scores, which are counted and not computed by a formula.
MAPE = "mean error (%)"
STEP = 2e-3  # errors are handed over as whole steps, of less than half a pixel
WIDE = QUARTER  # the strip around equality


YOURS = "your switches"
SHEET_ROW = "datasheet"


def ladder(found: list[tuple[str, float, float]]) -> Any:
    """Mean errors at each step, pale, and of the reader's own switches, dark."""
    from llmserve_lab.extras import altair as alt

    rows: list[dict[str, Any]] = []
    for name, *means in found:
        rung = {"r": name, "o": 0}
        for kind, mean in zip(("TPOT", "TTFT"), means, strict=True):
            rows.append({**rung, "k": kind, "v": 100 * mean})
    rows += [{"r": YOURS, "k": kind, "v": 0, "o": 1} for kind in ("TPOT", "TTFT")]
    order = [*(name for name, *_ in found), YOURS]
    own = "datum.o ? (datum.k == 'TPOT' ? tpot_error : ttft_error) : datum.v"
    data = alt.Chart(alt.Data(values=rows))
    base = data.transform_calculate(v=own)
    scale, axis = alt.Scale(domain=order), alt.Axis(labelLimit=190)
    y = alt.Y("r:N", sort=order, title=None, scale=scale, axis=axis)
    offset = alt.YOffset("k:N", sort=["TPOT", "TTFT"])
    scale = alt.Scale(domain=[0, 75], nice=False)
    axis = alt.Axis(tickCount=4)
    x = alt.X("v:Q", title=MAPE, scale=scale, axis=axis)
    inks = alt.Scale(domain=["TPOT", "TTFT"], range=[ink.css for ink in SERIES[:2]])
    bars = base.mark_bar(clip=True).encode(
        x=x,
        y=y,
        yOffset=offset,
        color=alt.Color("k:N", scale=inks, title=None),
        opacity=alt.condition("datum.o", alt.value(1), alt.value(0.55)),
    )
    words = base.transform_calculate(s="format(datum.v, '.1f')").mark_text(
        align="left", dx=4, fontSize=11, color=INK.css
    )
    said = words.encode(x=x, y=y, yOffset=offset, text="s:N")
    return alt.layer(bars, said, height=205)


RATIO = "predicted / measured, log scale"
ROUND = [0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 5, 10]


def _ratio(field: str, ends: dict[str, Any]) -> dict[str, Any]:
    """An axis of a ratio of times: equal factors have equal lengths."""
    from llmserve_lab.extras import altair as alt

    axis = alt.Axis(grid=False, values=ROUND, format="~g")
    scale = alt.Scale(type="log", nice=False, **ends)
    return {"shorthand": f"{field}:Q", "title": RATIO, "scale": scale, "axis": axis}


ENGINE_INKS: dict[str, Ink] = {
    "trtllm": SERIES[1],
    "vllm": SERIES[0],
    "sglang": SERIES[2],
}
CLIENTS = "clients, log scale"
APART = 0.14  # doublings between engines with one number of clients
SPREAD = 0.02  # the same between rows of one engine
NARROW, FAR = 1.7, 10.0  # times that a prediction may be off and still be on the axis
HARD = f"kind > {len(KINDS) - 2} || left > {len(LEFT) - 2}"  # first token, or no fit


def residuals() -> Any:
    """Predicted over measured against the clients, a point a row, by engine."""
    from llmserve_lab.extras import altair as alt

    numbers = dict.fromkeys(("g", "c", "p", *_columns()), "number")
    data = alt.Data(
        values="\n".join(_lines()), format=alt.CsvDataFormat(type="csv", parse=numbers)
    )
    ticks = alt.Axis(grid=False, values=[4, 8, 16, 32, 64, 128], format="d")
    across = alt.Scale(type="log", base=2, domain=[3, 170], nice=False)
    x = alt.X("c:Q", title=CLIENTS, scale=across, axis=ticks)
    y = alt.Y(**_ratio("t", _ends()))
    scale = alt.Scale(
        domain=[NAMES[engine] for engine in ENGINE_INKS],
        range=[ink.css for ink in ENGINE_INKS.values()],
    )
    legend = alt.Legend(symbolOpacity=1, symbolSize=90)
    color = alt.Color("g:N", scale=scale, title=None, legend=legend)
    picked = "datum['e' + kind + left]"
    points = (
        alt.Chart(data)
        .transform_filter(f"kind < {len(KINDS) - 1} || datum.p > 0")
        .transform_calculate(g=f"{[NAMES[e] for e in ENGINE_INKS]}[datum.g]")
        .transform_calculate(t=f"1 + {STEP:g} * {picked}")
    )
    points = points.mark_square(size=14, opacity=0.35, clip=True)
    points = points.encode(x=x, y=y, color=color)
    middle = (
        alt.Chart(alt.Data(values=_medians()))
        .transform_filter(f"isValid({picked})")
        .transform_calculate(t=f"1 + {STEP:g} * {picked}")
        .encode(x=x, y=y, color=color)
    )
    joined = middle.mark_line(strokeWidth=2, clip=True)
    medians = middle.mark_point(
        shape="diamond",
        filled=True,
        size=70,
        opacity=1,
        stroke=INK.css,
        strokeWidth=1,
        clip=True,
    )
    ends = alt.Chart(alt.Data(values=[{"c": 3}, {"c": 170}]))
    strip = (
        ends.transform_calculate(t=f"{WIDE}", u=f"1 / {WIDE}")
        .mark_area(color=GREY.css, opacity=0.16)
        .encode(x=x, y=y, y2="u:Q")
    )
    line = ends.transform_calculate(t="1").mark_line(color=GREY.css, strokeWidth=1)
    marks = (strip, line.encode(x=x, y=y), points, joined, medians)
    return alt.layer(*marks, height=220)


def _ends() -> dict[str, Any]:
    """Ends of the axis: wider where the errors are."""
    from llmserve_lab.extras import altair as alt

    most = f"({HARD} ? {FAR} : {NARROW})"
    return {"domainMin": alt.ExprRef(f"1 / {most}"), "domainMax": alt.ExprRef(most)}


def _columns() -> list[str]:
    """Names of the columns of errors: kind and what is left out, by index."""
    return [f"e{i}{j}" for i in range(len(KINDS)) for j in range(len(LEFT))]


def _lines() -> list[str]:
    """Rows as lines: engine, clients a little apart, public or not, all errors."""
    errors = [
        np.rint(row_errors(kind, left) / STEP).astype(int)
        for kind in KINDS.values()
        for left in LEFT.values()
    ]
    engines = list(ENGINE_INKS)
    lines = [",".join(("g", "c", "p", *_columns()))]
    for place, row in enumerate(dense_rows()):
        engine = engines.index(row.engine)
        apart = APART * (engine - 1) + SPREAD * (place % 5 - 2)
        cells = [str(engine), f"{row.clients * 2**apart:.4g}", str(int(row.public))]
        scored = len(errors) if row.public else len(errors) - len(LEFT)
        cells += [str(column[place]) for column in errors[:scored]]
        cells += [""] * (len(errors) - scored)  # of TTFT: not shown, not handed over
        lines.append(",".join(cells))
    return lines


def _medians() -> list[dict[str, Any]]:
    """Median error of each engine at each number of clients, in every state."""
    found = []
    for place, engine in enumerate(ENGINE_INKS):
        for clients in sorted({row.clients for row in dense_rows()}):
            middle: dict[str, Any] = {
                "g": NAMES[engine],
                "c": clients * 2 ** (APART * (place - 1)),
            }
            for name, kind, left in _states():
                rows, error = chosen(kind, left)
                own = [
                    each
                    for row, each in zip(rows, error, strict=True)
                    if (row.engine, row.clients) == (engine, clients)
                ]
                if own:
                    middle[name] = round(float(np.median(own)) / STEP)
            found.append(middle)
    return [middle for middle in found if len(middle) > 2]


def _states() -> list[tuple[str, Kind, str]]:
    """Columns of errors, with the kind of time and what is left out."""
    pairs = [(kind, left) for kind in KINDS.values() for left in LEFT.values()]
    return [(name, *pair) for name, pair in zip(_columns(), pairs, strict=True)]
