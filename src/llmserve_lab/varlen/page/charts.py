"""What the live figures draw: three attention squares, attention's share."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import BoundMark, Landmark, Marks, landmarks
from llmserve_lab.page.palette import GREY, INK, NARROW, SERIES, Ink
from llmserve_lab.varlen import formulas as f

LENGTHS = ("len_1", "len_2", "len_3", "len_4")
REQUESTS = "ABCD"
SHORTEST, LONGEST = 64, 1e6
PROMPT = QuantityAxis(
    q.row_prompt,
    words="prompt of the average row",
    domain=(SHORTEST, LONGEST),
    log=True,
)
WAYS = Marks(
    BoundMark("padded", f.PADDED_PAIRS, INK),
    BoundMark("masked", f.MASKED_PAIRS, INK),
    BoundMark("varlen", f.VARLEN_PAIRS, INK),
)
PADDING, BETWEEN, USEFUL, FUTURE = KINDS = Marks(
    BoundMark("padding", f.PADDING_SHARE, GREY),
    BoundMark("masked: pairs of two requests", f.MASKED_PAIRS, SERIES[1]),
    BoundMark("useful: allowed by the mask", f.USEFUL_PAIRS, SERIES[0]),
    BoundMark("for nothing: own future", f.WASTED_PAIRS, SERIES[4]),
)
PALE, DARK = 0.45, 0.9
# Where a kind of pair is named on a phone: beside which square, in which line.
BESIDE = {PADDING: (0, 2), BETWEEN: (1, 2), USEFUL: (2, 2), FUTURE: (2, 3)}
SIDE = f"max(2 * longest_prompt, {' + '.join(LENGTHS)})"  # tokens along a square
TALL = f"width < {NARROW}"  # a phone: squares one below the other
SQUARE_PX = f"{TALL} ? min(height / 3.4, width - 162)"  # beside it the longest name
UNIT = f"({SQUARE_PX} : min(width / 3.24, height - 96)) / ({SIDE})"
STEP_X, STEP_Y = f"({TALL} ? 0 : 1.12 * ({SIDE}))", f"({TALL} ? 1.2 * ({SIDE}) : 0)"
TOP = f"({TALL} ? 0 : 44 / ({UNIT}))"


def squares() -> Any:
    """Padded, masked and varlen side by side: what each computes, and what counts.

    Queries run down, keys to the right; one scale for all, so that an area is a number
    of pairs. The four padded squares stand two by two.
    """
    from llmserve_lab.extras import altair as alt

    keys = QuantityAxis(q.n_rows, words="keys, one for each row")
    queries = QuantityAxis(q.n_rows, words="queries, one for each row")
    across = _up_to(f"width / ({UNIT})")
    down = _up_to(f"height / ({UNIT})", reverse=True)
    box = {
        "x": keys.on("x", "left", bare=True).axis(None).scale(across),
        "y": queries.on("y", "top", bare=True).axis(None).scale(down),
        "x2": "right",
        "y2": "bottom",
    }
    names = {"x": box["x"], "y": alt.Y("bottom:Q", scale=down, axis=None)}
    return alt.layer(*_grounds(box), _blocks(box, names), *_names(), *_legend())


def starts() -> dict[str, str]:
    """Where each request begins in the square of varlen, after those before it."""
    return {
        name: f"2 * {STEP_X} + " + ("+".join(LENGTHS[:i]) or "0")
        for i, name in enumerate(LENGTHS)
    }


def _up_to(expr: str, *, reverse: bool = False) -> Any:
    from llmserve_lab.extras import altair as alt

    return alt.Scale(
        domainMin=0, domainMax={"expr": expr}, nice=False, reverse=reverse, zero=True
    )


def _corner(way: str = "datum.way") -> dict[str, str]:
    """The upper left corner of a way's square, in tokens."""
    return {"panel_x": f"{way} * {STEP_X}", "panel_y": f"{way} * {STEP_Y} + {TOP}"}


def _own(field: str = "own") -> dict[str, str]:
    return {field: f"[{', '.join(LENGTHS)}][datum.i]"}


def _grounds(box: dict[str, Any]) -> list[Any]:
    """What is computed before anything counts: padded squares, one masked square."""
    from llmserve_lab.extras import altair as alt

    total = " + ".join(LENGTHS)
    four = [{"way": 0, "i": i} for i in range(len(LENGTHS))]
    padded = (
        alt.Chart(alt.Data(values=four))
        .transform_calculate(**_corner())
        .transform_calculate(
            left="datum.panel_x + (datum.i % 2) * longest_prompt",
            top="datum.panel_y + floor(datum.i / 2) * longest_prompt",
        )
        .transform_calculate(
            right="datum.left + longest_prompt", bottom="datum.top + longest_prompt"
        )
        .mark_rect(color=PADDING.ink.css, fillOpacity=PALE, stroke=GREY.css)
        .encode(**box)
    )
    whole = [
        alt.Chart(alt.Data(values=[{"way": way}]))
        .transform_calculate(**_corner())
        .transform_calculate(left="datum.panel_x", top="datum.panel_y")
        .transform_calculate(
            right=f"datum.left + {total}", bottom=f"datum.top + {total}"
        )
        .mark_rect(
            color=BETWEEN.ink.css,
            fillOpacity=PALE if way == 1 else 0,
            stroke=GREY.css,
            strokeDash=[1, 0] if way == 1 else [3, 3],
        )
        .encode(**box)
        for way in (1, 2)
    ]
    return [padded, *whole]


def _blocks(box: dict[str, Any], letter: dict[str, Any]) -> Any:
    """For each request its block, the triangle in it that counts, and its letter."""
    from llmserve_lab.extras import altair as alt

    rows = [
        {"way": way, "i": i, "name": name}
        for way in range(len(WAYS))
        for i, name in enumerate(REQUESTS)
    ]
    before = f"[0, {', '.join('+'.join(LENGTHS[:i]) for i in range(1, 4))}][datum.i]"
    block = (
        alt.Chart()
        .mark_rect(color="var(--book-page, #fff)", fillOpacity=1)
        .encode(**box)
    )
    future = alt.Chart().mark_rect(color=FUTURE.ink.css, fillOpacity=PALE).encode(**box)
    useful = (  # a query sees its own token and those before it
        alt.Chart()
        .transform_calculate(corners="[0, 1]")
        .transform_flatten(["corners"], ["corner"])
        .transform_calculate(
            left="datum.left + datum.corner * datum.own",
            top="datum.top + datum.corner * datum.own",
        )
        .mark_area(color=USEFUL.ink.css, fillOpacity=DARK)
        .encode(x=box["x"], y=box["y"], y2="bottom", detail=["way:N", "i:O"])
    )
    fits = f"datum.own * ({UNIT}) < 22 ? 0 : 1"
    name = (
        alt.Chart()
        .mark_text(
            dx=5,
            dy=-4,
            align="left",
            baseline="bottom",
            fontWeight="bold",
            color="var(--book-page, #fff)",
            opacity={"expr": fits},
        )
        .encode(**letter, text="name:N")
    )
    return (
        alt.layer(block, future, useful, name, data=alt.Data(values=rows))
        .transform_calculate(**_corner(), **_own())
        .transform_calculate(
            left="datum.panel_x + (datum.way == 0 ? (datum.i % 2) * longest_prompt"
            f" : {before})",
            top="datum.panel_y + (datum.way == 0 ? floor(datum.i / 2) * longest_prompt"
            f" : {before})",
        )
        .transform_calculate(
            right="datum.left + datum.own", bottom="datum.top + datum.own"
        )
    )


def _names() -> list[Any]:
    """What each square is, and its pairs: above it, on a phone to its right."""
    from llmserve_lab.extras import altair as alt

    found = []
    for way, mark in enumerate(WAYS):
        at = f"{way} * {STEP_X} + ({TALL} ? {SIDE} : 0)"
        shown = f"format({mark.quantity.name}, '.3s') + ' pairs'"
        for line, text in enumerate((repr(mark.name), shown)):
            down = f"({way} * {STEP_Y}) * ({UNIT}) + {14 + 17 * line}"
            found.append(
                alt.Chart(alt.Data(values=[{}]))
                .transform_calculate(said=text)
                .mark_text(
                    align="left",
                    x={"expr": f"({at}) * ({UNIT}) + ({TALL} ? 10 : 0)"},
                    y={"expr": down},
                    fontWeight="bold" if line == 0 else "normal",
                    color=mark.ink.css,
                )
                .encode(text="said:N")
            )
    return found


def _legend() -> list[Any]:
    """The kinds of pairs in their inks: below the squares, on a phone beside them."""
    from llmserve_lab.extras import altair as alt

    found = []
    for place, mark in enumerate(KINDS):
        way, line = BESIDE[mark]
        narrow_x = f"({SIDE}) * ({UNIT}) + 10"
        narrow_y = f"{way} * {STEP_Y} * ({UNIT}) + {14 + 17 * line}"
        wide_x, wide_y = (
            f"{place % 2} * width / 2",
            f"height - {26 - 18 * (place // 2)}",
        )
        x, y = f"{TALL} ? {narrow_x} : {wide_x}", f"{TALL} ? {narrow_y} : {wide_y}"
        short = mark.name.split(": ")[-1]  # the square beside it says the rest
        said = f"{TALL} ? {short!r} : {mark.name!r}"
        one = alt.Chart(alt.Data(values=[{}])).transform_calculate(said=said)
        found += [
            one.mark_point(
                shape="square",
                filled=True,
                size=130,
                opacity=_strength(mark.ink),
                color=mark.ink.css,
                x={"expr": f"({x}) + 6"},
                y={"expr": y},
            ),
            one.mark_text(
                align="left",
                baseline="middle",
                color=mark.ink.css,
                fontWeight="bold",
                x={"expr": f"({x}) + 18"},
                y={"expr": y},
            ).encode(text="said:N"),
        ]
    return found


def _strength(ink: Ink) -> float:
    return DARK if ink == USEFUL.ink else PALE


def share() -> Any:
    """Attention's share of the FLOPs as the prompt grows, and where it is a half."""
    from llmserve_lab.extras import altair as alt

    y = QuantityAxis(q.attn_share, words="share of FLOPs in attention", domain=(0, 1))
    row = {"mean_prompt": "datum.row_prompt"}
    at = row | {"batch": "1", "mean_square_prompt": "pow(datum.row_prompt, 2)"}
    line = Drawn("attention", f.ATTN_SHARE, SERIES[0], at, label_at=0.62, rising=True)
    return alt.layer(
        *_beyond(),
        *landmarks(
            PROMPT,
            "x",
            "row_prompt",
            Landmark("attention overtakes", q.overtake_prompt, left=True),
            Landmark("your prompt", q.row_prompt, down=16),
        ),
        bound_curves(PROMPT, y, line),
    )


def _beyond() -> list[Any]:
    """Beyond its maximum context the model reads no prompt."""
    from llmserve_lab.extras import altair as alt

    one = alt.Chart(alt.Data(values=[{}]))
    inside = f"min(most_context, {LONGEST})"
    along = f"log({inside} / {SHORTEST}) / log({LONGEST} / {SHORTEST})"
    return [
        one.mark_rect(
            color=GREY.css,
            opacity=0.22,
            clip=True,
            x={"expr": f"width * {along}"},
            x2={"expr": "width"},
            y={"expr": "0"},
            y2={"expr": "height"},
        ),
        one.mark_text(
            text="beyond the model",
            align="right",
            color=GREY.css,
            fontSize=12,
            x={"expr": "width - 6"},
            y={"expr": "height - 12"},
            opacity={"expr": f"(1 - {along}) * width > 105 ? 1 : 0"},
        ),
    ]
