"""What the live figures draw: lanes of tokens, and a chunk from a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.catalog import Given
from llmserve_lab.checks import positive
from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.lanes import Beat
from llmserve_lab.continuous_batching.machine import (
    BOOK_ARRIVES_S,
    DECODES,
    GRAPH_ROWS,
    decodes,
    replayed,
    served,
)
from llmserve_lab.continuous_batching.workloads import LETTERS
from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.page.live.axes import Drawn, QuantityAxis
from llmserve_lab.page.live.bound import Landmark, landmarks
from llmserve_lab.page.palette import GREY, INK, MEANINGS, series
from llmserve_lab.running_example import setting

FROM_S = -0.25  # before the long prompt arrives
PAGE = "var(--book-page, #fff)"
MOST_ROWS, STEPS = 5000, 200
ROWS = "rows of the chunk (tokens/request)"
CHUNK = QuantityAxis(q.chunk, words=ROWS, domain=(0, MOST_ROWS), ticks={"tickCount": 4})
TIME = QuantityAxis(
    q.served_iteration_s, "ms", words="time of the iteration", domain=(0, 380)
)
GAP = QuantityAxis(q.tbt_target, "ms")
WAITED = "time since the long prompt arrived"
SERVED = series("at the prompt's start", "after this prefix")
KEY_ROW = 17  # CSS pixels
SEAM_S = 0.12  # chunks that last less are not told apart in the lane of the prompt
FITS = q.chunk_fits
GAP_MS = GAP.scaled("datum.gap", q.tbt_target)
LANE = 30  # CSS pixels
STREAMS = LANE * DECODES  # the lanes above that of the long prompt
HEIGHT = STREAMS + 46
LEGEND = -12  # above the lanes


def lanes(runs: Sequence[Sequence[Beat]], until_s: float) -> Any:
    """A tick for each token in each lane, and below them what is read of the prompt.

    ``runs`` stand in the order of the budgets that the reader can choose.
    """
    from llmserve_lab.extras import altair as alt

    positive("until_s", until_s)
    rows = [_row(number, beat) for number, run in enumerate(runs) for beat in run]
    numbers = alt.CsvDataFormat(type="csv", parse=dict.fromkeys("cbp", "number"))
    data = alt.Data(values="\n".join(["c,b,p", *rows]), format=numbers)
    look = {"grid": False, "tickCount": 8}
    x = QuantityAxis(q.chunks_s, words=WAITED, domain=(FROM_S, until_s), ticks=look).on(
        "x", "a"
    )
    # The rows stand once, in the layered chart, which picks those of the budget.
    mine = alt.Chart()
    streams = mine.encode(x=x, y=alt.value(STREAMS), y2=alt.value(0))
    tokens: dict[str, Any] = {"color": MEANINGS["new"].css, "clip": True}
    read = mine.transform_filter("datum.p > 0 && datum.b > 0")
    whole = read.transform_aggregate(a="min(a)", b="max(b)")
    seams = read.transform_filter(f"datum.b - datum.a > {SEAM_S}")
    after = mine.transform_filter("datum.p == 0 && datum.a > 0")  # F writes as well
    lane: dict[str, Any] = {"y": alt.value(HEIGHT - 4), "y2": alt.value(STREAMS + 18)}
    chart = alt.layer(
        streams.transform_filter("datum.p == 0").mark_rect(**tokens).encode(x2="b"),
        _tokens(read, x),
        *_between_lanes(),
        whole.mark_rect(color=MEANINGS["F"].css, clip=True).encode(x=x, x2="b", **lane),
        seams.mark_rule(color=PAGE, clip=True).encode(x=x, **lane),
        after.mark_rect(**tokens).encode(x=x, x2="b", **lane),
        _longest(mine, x),
        *_said(),
        *_target(x),
        *_names(),
        data=data,
        height=HEIGHT,
    )
    # Each iteration begins where the one before it has ended. No field is written
    # twice: where the budget changes, Vega computes them again.
    chosen = chart.transform_filter("datum.c == limit").transform_window(s="lag(b)")
    begun = f"isValid(datum.s) ? datum.s : {-BOOK_ARRIVES_S:g}"
    return chosen.transform_calculate(a=begun)


def _tokens(read: Any, x: Any) -> Any:
    """A stroke through the lanes where an iteration ends: one path, which is fast."""
    from llmserve_lab.extras import altair as alt

    foot = round(1 - STREAMS / HEIGHT, 6)  # the rest of the height is F's
    scale = alt.Scale(domain=[0, 1], nice=False)
    return (
        read.transform_calculate(a="datum.b", v=f"[{foot}, 1, null]")
        .transform_flatten(["v"])
        .mark_line(color=MEANINGS["new"].css, strokeWidth=1.5, clip=True)
        .encode(x=x, y=alt.Y("v:Q", axis=None, scale=scale), order=alt.value(0))
    )


def _target(x: Any) -> list[Any]:
    """The gap that the target allows, as long as it is, between the lanes and F."""
    from llmserve_lab.extras import altair as alt

    foot = alt.value(STREAMS + 8)
    row = alt.Chart(alt.Data(values=[{}])).transform_calculate(a="0", b="tbt_target")
    bar = row.mark_rule(strokeWidth=6, color=INK.css).encode(x=x, x2="b", y=foot)
    text: dict[str, Any] = {"align": "left", "dx": 6, "fontSize": 12, "color": GREY.css}
    words = row.transform_calculate(a="datum.b")
    named = words.mark_text(text="the longest gap that the target allows", **text)
    return [bar, named.encode(x=x, y=foot)]


def _longest(mine: Any, x: Any) -> Any:
    """How long the longest hole is, written into it where it is wide enough."""
    from llmserve_lab.extras import altair as alt

    shown = f"datum.gap < 1 ? format({GAP_MS}, '.3~r') + ' ms' : "
    words = f"({shown}format(datum.gap, '.3~r') + ' s') + ' without a token'"
    return (
        mine.transform_filter("datum.p > 0")
        .transform_calculate(gap="datum.b - datum.a")
        .transform_joinaggregate(longest="max(gap)")
        .transform_filter("datum.gap == datum.longest && datum.gap > 0.8")
        .transform_calculate(a="(datum.a + datum.b) / 2", says=words)
        .mark_text(fontWeight="bold", fontSize=13, color=INK.css, clip=True)
        .encode(x=x, y=alt.value(STREAMS / 2), text="says:N")
    )


def _row(number: int, beat: Beat) -> str:
    return f"{number},{round(beat.end_s, 3):g},{int(beat.rows > 0)}"


def _between_lanes() -> list[Any]:
    """Strips of the page's colour that part the lanes."""
    from llmserve_lab.extras import altair as alt

    strip: dict[str, Any] = {"color": PAGE, "x": 0, "x2": "width", "height": 10}
    return [
        alt.Chart(alt.Data(values=[{}])).mark_rect(**strip, y=LANE * number)
        for number in range(DECODES + 1)
    ]


def _said() -> list[Any]:
    """What an orange stripe and a block of F's lane are, above all lanes."""
    from llmserve_lab.extras import altair as alt

    words = (("token", MEANINGS["new"], 0), ("chunk of F's prompt", MEANINGS["F"], 80))
    look: dict[str, Any] = {"align": "left", "fontSize": 12, "y": LEGEND}
    one = alt.Chart(alt.Data(values=[{}]))
    return [
        mark
        for text, ink, x in words
        for mark in (
            one.mark_rect(color=ink.css, x=x, x2=x + 12, y=LEGEND - 6, y2=LEGEND + 6),
            one.mark_text(text=text, x=x + 18, color=GREY.css, **look),
        )
    ]


def _names() -> list[Any]:
    """The name of each lane at its left, on the page's colour."""
    from llmserve_lab.extras import altair as alt

    names = [*LETTERS[:DECODES], "F"]
    places = [LANE * number + LANE // 2 + 2 for number in range(DECODES)]
    places.append((HEIGHT + STREAMS) // 2 + 7)
    look: dict[str, Any] = {"align": "right", "x": -8, "fontWeight": "bold"}
    return [
        alt.Chart(alt.Data(values=[{}])).mark_text(
            text=name, y=y, color=GREY.css, **look
        )
        for name, y in zip(names, places, strict=True)
    ]


def lines() -> tuple[Drawn, ...]:
    """The curves of an iteration: fitted to servers, after a prefix and without one.

    Up to the rows that are recorded launches are replayed, by the page's rule.
    """
    bare, after = SERVED.items()
    cheap, dear = (served(each)["overhead_s"] for each in (replayed(), None))
    last = GRAPH_ROWS - DECODES  # rows of the largest chunk that is recorded
    launches = f"(datum.chunk > {last} ? {float(dear):g} : {float(cheap):g})"
    here, start = ({"context": at, "overhead_s": launches} for at in ("context", "0"))
    return (
        Drawn(after[0], f.SERVED_ITERATION_S, after[1], here),
        Drawn(bare[0], f.SERVED_ITERATION_S, bare[1], start, dash=(5, 4)),
    )


def chunk_from_target() -> Any:
    """An iteration's time as its chunk grows, with this prefix and with none."""
    from llmserve_lab.extras import altair as alt

    x, y = CHUNK.on("x", "chunk"), TIME.on("y", "ms")
    rows = alt.sequence(0, STEPS + 1, as_="i")
    drawn = alt.LayerChart(data=rows, layer=[_line(each) for each in lines()])
    each = MOST_ROWS / STEPS
    late = f"({CHUNK.reads(FITS)} > {MOST_ROWS // 2})"  # no room at the right of it
    return alt.layer(
        *landmarks(CHUNK, "x", "chunk", Landmark("longest chunk", FITS, left=late)),
        drawn.transform_calculate(chunk=f"max(1, {each} * datum.i)").encode(x=x, y=y),
        *(mark for at, line in enumerate(lines()) for mark in _key(line, at)),
        _across("target", TIME, q.tbt_target).encode(y=y),
        height=110,
    )


def _key(line: Drawn, row: int) -> list[Any]:
    """A stroke and its name above the chart, where no line runs."""
    from llmserve_lab.extras import altair as alt

    one = alt.Chart(alt.Data(values=[{}]))
    at, ink = alt.value(KEY_ROW * row - 29), line.ink.css
    dash = list(line.dash or (1, 0))
    stroke = one.mark_rule(color=ink, strokeDash=dash, strokeWidth=2)
    text = one.mark_text(text=line.name, align="left", color=ink)
    return [
        stroke.encode(x=alt.value(10), x2=alt.value(36), y=at),
        text.encode(x=alt.value(42), y=at),
    ]


def _line(line: Drawn) -> Any:
    """A curve over the rows of the chunk, for the load of the chapter."""
    from llmserve_lab.extras import altair as alt

    known: Mapping[str, Given] = setting() | served()
    at = {**{k: float(v) for k, v in known.items()}, **decodes(), **line.at}
    asked = {k: v for k, v in at.items() if k in line.formula.known()}
    expr = TIME.draws(line.formula, chunk="datum.chunk", **asked)
    look: dict[str, Any] = {
        "clip": True,
        "color": line.ink.css,
        "strokeDash": list(line.dash or (1, 0)),
    }
    return alt.Chart().transform_calculate(ms=expr).mark_line(**look)


def _across(text: str, axis: QuantityAxis, quantity: Quantity) -> Any:
    """A rule across the chart at a signal, named at its end."""
    from llmserve_lab.extras import altair as alt

    row = alt.Chart(alt.Data(values=[{}]))
    row = row.transform_calculate(ms=axis.reads(quantity))
    rule = row.mark_rule(color=GREY.css, strokeDash=[3, 3], clip=True)
    look: dict[str, Any] = {"align": "left", "dx": 4, "x": {"expr": "width"}}
    return alt.layer(rule, row.mark_text(text=text, color=GREY.css, **look))
