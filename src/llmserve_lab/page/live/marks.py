"""Pieces that live charts share: logarithmic rows and axes, landmarks, inks by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from llmserve_lab.page.palette import GREY, Ink

STEPS = 40  # of a line; the rows are made in the browser, none is stored


def log_axis(title: str, low: float, high: float, **axis: Any) -> dict[str, Any]:
    """Keywords of a channel: logarithmic, fixed domain, one grid line a decade."""
    from llmserve_lab.extras import altair as alt

    decades = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    shown = "format(datum.value, datum.value < 1 ? '~g' : '~s')"
    style = {"values": [10.0**power for power in decades], "labelExpr": shown} | axis
    return {
        "title": title,
        "type": "quantitative",
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(**style),
    }


def by_ink(field: str, inks: dict[str, Ink], *, legend: bool = True) -> dict[str, Any]:
    """Colour and dash channels that give each value of ``field`` its ink."""
    from llmserve_lab.extras import altair as alt

    names = list(inks)
    colors = alt.Scale(domain=names, range=[ink.css for ink in inks.values()])
    dashes = alt.Scale(
        domain=names, range=[list(i.dash or (1, 0)) for i in inks.values()]
    )
    shown: Any = alt.Undefined if legend else None
    return {
        "color": alt.Color(field, type="nominal", scale=colors, legend=shown),
        "strokeDash": alt.StrokeDash(field, type="nominal", scale=dashes, legend=shown),
    }


def landmark(
    channel: Any, signal: str, label: str, *, at: float = 0, left: bool | str = False
) -> Any:
    """A thin rule across the chart where ``channel`` (x or y) equals ``signal``.

    ``label`` stands at its end, ``at`` pixels down from the top (or from the left; with
    a negative number from the right). ``left``: to the left of an upright rule, always
    or where a Vega expression is true.
    """
    from llmserve_lab.extras import altair as alt

    name = type(channel).__name__.lower()
    row = alt.Chart(alt.Data(values=[{}])).transform_calculate(
        **{str(channel.shorthand): signal}
    )
    rule = row.mark_rule(color=GREY.css, strokeDash=[3, 3], clip=True)
    text = {"color": GREY.css, "align": "left", "clip": True, "text": label}
    place: dict[str, Any] = {"dx": 4, "dy": 10 + at, "y": 0}
    if isinstance(left, str):
        place["align"] = alt.expr(f"{left} ? 'right' : 'left'")
        place["dx"] = alt.expr(f"{left} ? -4 : 4")
    elif left:
        place |= {"align": "right", "dx": -4}
    if name == "y":
        place = {"dy": -6, "x": 4 + at}
    if name == "y" and at < 0:
        place |= {"align": "right", "x": alt.expr(f"width - {-at:g}")}
    look: dict[str, Any] = {**text, **place}
    return alt.layer(rule, row.mark_text(**look)).encode(**{name: channel})


@dataclass(frozen=True)
class Curve:
    """One line: its name, its Vega expression over ``datum``, its ink and dash.

    The name ends at the share ``label_at`` of the line's rows, on the free side of the
    line: below a falling one, above a rising one. ``says`` is a Vega expression that is
    written in its place, for a name that the reader chooses. ``corners`` are Vega
    expressions of places along the other axis at which the line bends sharply.
    """

    name: str
    expr: str
    ink: Ink
    label_at: float = 1.0
    dash: tuple[int, ...] = ()
    rising: bool = False
    says: str = ""
    corners: tuple[str, ...] = ()


def curves(x: Any, y: Any, over: tuple[float, float], *lines: Curve) -> Any:
    """Every line over a range of ``x``, its name beside it, as Altair layers."""
    from llmserve_lab.extras import altair as alt

    layers = [_curve(line, x.shorthand, y.shorthand, over) for line in lines]
    return alt.layer(*layers).encode(x=x, y=y)


def _curve(line: Curve, x: str, y: str, over: tuple[float, float]) -> Any:
    """Line and name of one curve, on rows that are computed once for both."""
    from llmserve_lab.extras import altair as alt

    color = line.ink.css
    dash = list(line.dash or (1, 0))
    drawn = alt.Chart().mark_line(
        clip=True,
        interpolate="linear" if line.corners else "monotone",
        color=color,
        strokeDash=dash,
    )
    row = f"datum.i == {round(line.label_at * STEPS)}"
    name = (
        alt.Chart()
        .transform_filter(row)
        .mark_text(
            text=alt.expr(line.says) if line.says else line.name,
            color=color,
            align="right",
            dy=-9 if line.rising else 14,
            fontWeight="bold",
            clip=True,
        )
    )
    rows = alt.LayerChart(data=alt.sequence(0, STEPS + 1, as_="i"), layer=[drawn, name])
    along = _power(*over)
    for corner in line.corners:
        along = _snapped(along, corner, over)
    return rows.transform_calculate(**{x: along}).transform_calculate(**{y: line.expr})


def _snapped(along: str, corner: str, over: tuple[float, float]) -> str:
    """The same rows, the one nearest to a corner moved into it."""
    half = math.log(over[1] / over[0]) / STEPS / 2
    near = f"abs(log({along}) - log({corner})) < {half:.6g}"
    return f"({near} ? {corner} : {along})"


def _power(low: float, high: float) -> str:
    """Vega expression that runs from ``low`` to ``high`` in equal ratios."""
    start, stop = math.log10(low), math.log10(high)
    return f"pow(10, {start:.6g} + {(stop - start) / STEPS:.6g} * datum.i)"
