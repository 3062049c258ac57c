"""What the live figures draw: lanes of tokens, a chunk from a target, its price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.lanes import Beat
from llmserve_lab.continuous_batching.machine import DECODES, decodes, served
from llmserve_lab.continuous_batching.workloads import LETTERS
from llmserve_lab.formula.formula import Formula
from llmserve_lab.page.live.marks import Curve, curves, landmark, log_axis
from llmserve_lab.page.palette import BLUE, GREY, INK, MEANINGS, VERMILLION
from llmserve_lab.running_example import ideal, setting

FROM_S = -0.25  # before the long prompt arrives
PAGE = "var(--book-page, #fff)"
MOST_ROWS, STEPS = 4096, 64
MOST_MS = 300
CHUNK_TITLE = "chunk (rows of the prompt in one iteration)"
LANE = 34  # CSS pixels
STREAMS = LANE * DECODES  # the lanes above that of the long prompt
HEIGHT = STREAMS + 46
CUT = {"chunk": "datum.rows"}


def lanes(runs: Sequence[tuple[int, Sequence[Beat]]], until_s: float) -> Any:
    """A tick for each token in each lane, and below them what is read of the prompt."""
    from llmserve_lab.extras import altair as alt

    rows = [_row(chunk, beat) for chunk, beats in runs for beat in beats]
    numbers = alt.CsvDataFormat(type="csv", parse=dict.fromkeys("cabp", "number"))
    data = alt.Data(values="\n".join(["c,a,b,p", *rows]), format=numbers)
    x = alt.X(
        "a:Q",
        title="time since the long prompt arrived (s)",
        scale=alt.Scale(domain=[FROM_S, until_s], nice=False),
        axis=alt.Axis(grid=False, tickCount=8),
    )
    # The rows stand once, in the layered chart, which picks those of the chunk.
    mine = alt.Chart()
    streams = mine.encode(x=x, y=alt.value(STREAMS), y2=alt.value(0))
    tokens: dict[str, Any] = {"color": MEANINGS["new"].css, "clip": True}
    read = mine.transform_filter("datum.p > 0 && datum.b > 0")
    whole = read.transform_aggregate(a="min(a)", b="max(b)")
    seams = read.transform_filter("datum.b - datum.a > 0.03")  # wide enough to be seen
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
        *_target(x),
        *_names(),
        data=data,
        height=HEIGHT,
    )
    return chart.transform_filter("datum.c == chunk")


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
    text: dict[str, Any] = {"align": "left", "dx": 6, "fontSize": 11, "color": INK.css}
    words = row.transform_calculate(a="datum.b")
    named = words.mark_text(text="← no gap longer than this", **text)
    return [bar, named.encode(x=x, y=foot)]


def _longest(mine: Any, x: Any) -> Any:
    """How long the longest hole is, written into it where it is wide enough."""
    from llmserve_lab.extras import altair as alt

    shown = "datum.gap < 1 ? format(1e3 * datum.gap, '.3~r') + ' ms' : "
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


def _row(chunk: int, beat: Beat) -> str:
    return f"{chunk},{beat.start_s:.3f},{beat.end_s:.3f},{int(beat.rows > 0)}"


def _between_lanes() -> list[Any]:
    """Strips of the page's colour that part the lanes."""
    from llmserve_lab.extras import altair as alt

    strip: dict[str, Any] = {"color": PAGE, "x": 0, "x2": "width", "height": 10}
    return [
        alt.Chart(alt.Data(values=[{}])).mark_rect(**strip, y=LANE * number)
        for number in range(DECODES + 1)
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


def chunk_from_target() -> Any:
    """An iteration's time as its chunk grows, with this prefix and with none."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("rows", **_linear(CHUNK_TITLE, MOST_ROWS))
    y = alt.Y("ms", **_linear("time of the iteration (ms)", MOST_MS))
    rows = alt.sequence(0, STEPS + 1, as_="i")
    ideal_s = iteration_s(f.MIXED_ITERATION_S, ideal(), context="context")
    lines = (
        ("this prefix", _served("context"), VERMILLION, (1, 0)),
        ("no prefix", _served("0"), BLUE, (5, 4)),
        ("this prefix, datasheet", ideal_s, GREY, (2, 3)),
    )
    line = alt.LayerChart(data=rows, layer=[_line(*each[1:]) for each in lines])
    each = MOST_ROWS / STEPS
    drawn = line.transform_calculate(rows=f"max(1, {each} * datum.i)")
    return alt.layer(
        landmark(y, "1e3 * tbt_target", ""),
        landmark(x, "chunk_fits", "longest chunk that fits"),
        drawn.encode(x=x, y=y),
        *(
            mark
            for at, (name, _, ink, dash) in enumerate(lines)
            for mark in _key(name, ink, dash, 14 + 17 * at)
        ),
        _at_right("target", ms="1e3 * tbt_target").encode(y=y),
        height=240,
    )


def _key(name: str, ink: Any, dash: tuple[int, int], y: int) -> list[Any]:
    """A stroke and its name at the upper left, where no line runs."""
    from llmserve_lab.extras import altair as alt

    one = alt.Chart(alt.Data(values=[{}]))
    at = alt.value(y)
    stroke = one.mark_rule(color=ink.css, strokeDash=list(dash), strokeWidth=2)
    words = one.mark_text(text=name, color=ink.css, align="left", baseline="middle")
    return [
        stroke.encode(x=alt.value(10), x2=alt.value(34), y=at),
        words.encode(x=alt.value(40), y=at),
    ]


def _linear(title: str, most: float) -> dict[str, Any]:
    """Keywords of a channel: from nothing to ``most``."""
    from llmserve_lab.extras import altair as alt

    scale = alt.Scale(domain=[0, most], nice=False)
    return {
        "title": title,
        "type": "quantitative",
        "scale": scale,
        "axis": alt.Axis(tickCount=5),
    }


def _line(seconds: str, ink: Any, dash: tuple[int, int]) -> Any:
    from llmserve_lab.extras import altair as alt

    look = {"clip": True, "color": ink.css, "strokeDash": list(dash)}
    return alt.Chart().transform_calculate(ms=f"1e3 * ({seconds})").mark_line(**look)


def _served(context: str) -> str:
    return iteration_s(f.SERVED_ITERATION_S, {**setting(), **served()}, context=context)


def iteration_s(formula: Formula, known: Mapping[str, Any], context: str) -> str:
    """Time of a mixed iteration in the browser, for the rows of a line."""
    at = {"chunk": "datum.rows", "context": context}
    at |= {name: repr(float(value)) for name, value in {**known, **decodes()}.items()}
    keep = frozenset(at) & frozenset(formula.known())
    asked = {leaf.name for leaf in formula.leaves(keep=keep)}
    return formula.browser({k: f"({v})" for k, v in at.items() if k in asked})


def price(most: float) -> Any:
    """Seconds of a whole prompt against the chunk: computing, and reading again."""
    from llmserve_lab.extras import altair as alt

    over = (256.0, most)
    x = alt.X("rows", **log_axis(CHUNK_TITLE, *over))
    y = alt.Y("s", **log_axis("time (s)", 0.01, 100))
    again = {"num_chunks": "prompt_len / datum.rows"}  # not rounded: a smooth line
    again["weight_bytes"] = "weight_bytes"
    kv = {"num_chunks": again["num_chunks"], **CUT}
    read = f"{f.PROMPT_WEIGHTS_S.browser(again)} + {f.PROMPT_KV_S.browser(kv)}"
    whole = f.SERVED_PROMPT_S.browser(again | CUT)
    lines = (
        Curve("reading weights and cache", read, BLUE, 0.75, (5, 4)),
        Curve("prefill in chunks", whole, VERMILLION, 0.75, (1, 0)),
    )
    return alt.layer(
        landmark(x, "chunk", "this chunk"),
        landmark(y, "prompt_compute_s", ""),
        _at_right("computing the prompt", s="prompt_compute_s").encode(y=y),
        *(curves(x, y, over, line) for line in lines),
        height=230,
    )


def _at_right(text: str, **at: str) -> Any:
    """The name of a horizontal line, above its right end."""
    from llmserve_lab.extras import altair as alt

    return (
        alt.Chart(alt.Data(values=[{}]))
        .transform_calculate(**at)
        .mark_text(
            text=text,
            align="right",
            x={"expr": "0.78 * width"},
            dy=-7,
            color=GREY.css,
            clip=True,
        )
    )
