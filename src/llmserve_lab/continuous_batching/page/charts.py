"""What the live figures draw: an iteration, a mask, and the price of a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.article_machine import (
    CONTEXT,
    DECODES,
    FROM_S,
    UNTIL_S,
)
from llmserve_lab.page.live.marks import Curve, curves, landmark, log_axis
from llmserve_lab.page.palette import BLUE, GREEN, GREY, PURPLE, VERMILLION

if TYPE_CHECKING:
    from llmserve_lab.continuous_batching.serving import Beat

CHUNKS = (8.0, 65_536.0)
MOST_ROWS, MOST_KEYS = 16, 40
LEAST_MS = 2.0  # where its bars stand
CHUNK_TITLE = "chunk (rows of the prompt in one iteration)"


def iteration_against_chunk() -> Any:
    """One iteration's time as its chunk grows, with this prefix and with none."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("rows", **log_axis(CHUNK_TITLE, *CHUNKS))
    y = alt.Y("ms", **log_axis("time of the iteration (ms)", 2, 20_000))
    row, held = "datum.rows", {"decode_context": str(CONTEXT)}
    return alt.layer(
        landmark(y, "1e3 * tbt_target", "target"),
        landmark(x, "chunk", "this chunk"),
        landmark(x, "chunk_fits", "fits", at=16),
        curves(
            x,
            y,
            CHUNKS,
            Curve(
                "this prefix",
                f"1e3 * {_iteration_s(chunk=row, **held)}",
                VERMILLION,
                label_at=0.75,
                rising=True,
            ),
            Curve(
                "no prefix",
                f"1e3 * {_iteration_s(chunk=row, context='0', **held)}",
                BLUE,
                label_at=0.3,
                dash=(5, 4),
            ),
        ),
    )


def _iteration_s(**at: str) -> str:
    """``iteration_s-mixed`` over ``weights_s``, with expressions for some leaves."""
    parts = {"weights_s": "weights_s"}
    for formula in (f.MIXED_COMPUTE_S, f.MIXED_KV_S):
        asked = {leaf.name for leaf in formula.arguments}
        own = {name: expr for name, expr in at.items() if name in asked}
        parts[formula.name] = formula.browser(own)
    return f.MIXED_ITERATION_S.browser(parts)


def mask() -> Any:
    """The block of one chunk: what its rows see of prefix and selves, or not."""
    from llmserve_lab.extras import altair as alt

    x = alt.X(
        "start:Q",
        title="keys (tokens)",
        scale=alt.Scale(domain=[0, MOST_KEYS], nice=False),
        axis=alt.Axis(grid=False, tickCount=8),
    )
    y = alt.Y(
        "top:Q",
        title="rows of the chunk",
        scale=alt.Scale(domain=[0, MOST_ROWS], nice=False, reverse=True),
        axis=alt.Axis(grid=False, tickCount=4),
    )
    seen = {
        BLUE: ("0", "context"),
        VERMILLION: ("context", "context + datum.i + 1"),
        GREY: ("context + datum.i + 1", "context + chunk"),
    }
    bars = [
        _rows(start, end).mark_rect(
            color=ink.css, fillOpacity=0.12 if ink is GREY else 0.85
        )
        for ink, (start, end) in seen.items()
    ]
    blocks = alt.layer(*bars).encode(x=x, y=y, x2="end", y2="below")
    return alt.layer(blocks, *_legend(), height=260)


def _rows(start: str, end: str) -> Any:
    """One bar a query row, as long as the expressions say; none beyond the chunk."""
    from llmserve_lab.extras import altair as alt

    return (
        alt.Chart(alt.sequence(0, MOST_ROWS, as_="i"))
        .transform_filter("datum.i < chunk")
        .transform_calculate(start=start, end=end)
        .transform_calculate(top="datum.i + 0.06", below="datum.i + 0.94")
    )


def _legend() -> list[Any]:
    """What this block is called, and what the colours are, at the lower right."""
    from llmserve_lab.extras import altair as alt

    name = "chunk == 1 ? 'a decode' : context == 0 ? 'a first chunk' : 'a later chunk'"
    lines = (
        (name, GREY),
        ("'cached prefix: all visible'", BLUE),
        ("'own rows: up to itself'", VERMILLION),
    )
    return [
        alt.Chart(alt.Data(values=[{}])).mark_text(
            text={"expr": text},
            color=ink.css,
            align="right",
            fontWeight="bold",
            x={"expr": "width - 4"},
            y={"expr": f"height - {52 - 18 * row}"},
        )
        for row, (text, ink) in enumerate(lines)
    ]


def price() -> Any:
    """Seconds of a whole prompt against the chunk, and the gap that it makes."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("rows", **log_axis(CHUNK_TITLE, *CHUNKS))
    y = alt.Y("s", **log_axis("time (s)", 0.002, 200))
    again = {"num_chunks": "prompt_len / datum.rows"}  # not rounded: a smooth line
    lines = (
        Curve("weights again", f.PROMPT_WEIGHTS_S.browser(again), GREEN, 0.3, (2, 2)),
        Curve("cache again", _cache_again(again), BLUE, 0.86, (5, 4)),
        Curve("longest gap", _longest_gap(), PURPLE, 0.8, PURPLE.dash, rising=True),
    )
    return alt.layer(
        landmark(x, "chunk", "this chunk"),
        landmark(x, "hiding_chunk", "hidden from here", at=16),
        landmark(y, "prompt_compute_s", "compute", at=8),
        curves(x, y, CHUNKS, *lines),
    )


def _cache_again(again: dict[str, str]) -> str:
    """Nothing is drawn where the prompt is one chunk: nothing is read again."""
    seconds = f.PROMPT_KV_S.browser({"chunk": "datum.rows", **again})
    return f"datum.rows < prompt_len ? {seconds} : null"


def _longest_gap() -> str:
    """The last chunk of the prompt, beside the decodes."""
    last, before = "min(datum.rows, prompt_len)", "max(0, prompt_len - datum.rows)"
    calm = {"n_decodes": str(DECODES), "decode_context": str(CONTEXT)}
    return _iteration_s(chunk=last, context=before, **calm)


def timeline(runs: Sequence[tuple[int, Sequence[Beat]]]) -> Any:
    """Every iteration of one of the runs, as wide and as high as the gap it makes."""
    from llmserve_lab.extras import altair as alt

    rows = [_row(chunk, beat) for chunk, beats in runs for beat in beats]
    numbers = alt.CsvDataFormat(type="csv", parse=dict.fromkeys("cagb", "number"))
    data = alt.Data(values="\n".join(["c,a,g,b", *rows]), format=numbers)
    x = alt.X(
        "a:Q",
        title="time since the long prompt arrived (s)",
        scale=alt.Scale(domain=[FROM_S, UNTIL_S], nice=False),
        axis=alt.Axis(values=list(range(10)), grid=False),
    )
    y = alt.Y("g", **log_axis("gap between two tokens (ms)", LEAST_MS, 20_000))
    over = "datum.g > 1e3 * tbt_target"
    inks = (alt.value(ink.css) for ink in (VERMILLION, BLUE))
    bars = (
        alt.Chart(data)
        .transform_filter("datum.c == chunk")
        .transform_calculate(
            low=str(LEAST_MS), b="isValid(datum.b) ? datum.b : datum.a + datum.g / 1e3"
        )
        .mark_bar(clip=True)
        .encode(x=x, x2="b", y=y, y2="low:Q", color=alt.condition(over, *inks))
    )
    return alt.layer(bars, landmark(y, "1e3 * tbt_target", "target"))


def _row(chunk: int, beat: Beat) -> str:
    """Start in seconds, gap in ms; where it ends is said only if not one gap later."""
    end = "" if beat.rows else f"{beat.end_s:.3f}"
    return f"{chunk},{beat.start_s:.3f},{1e3 * beat.gap_s:.3g},{end}"
