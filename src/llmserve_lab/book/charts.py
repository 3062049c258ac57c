"""Pieces that live charts share: logarithmic rows and axes, landmarks, inks by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from llmserve_lab.book.palette import GREY, Ink


def powers(low: float, high: float, name: str, *, steps: int = 40) -> Any:
    """An Altair chart whose rows' field ``name`` runs from ``low`` to ``high``.

    The rows stand at equal ratios, made in the browser: none is stored in the page.
    """
    import altair as alt
    import numpy as np

    start, stop = np.log10([low, high])
    step = (stop - start) / steps
    rows = alt.Chart(alt.sequence(0, steps + 1, as_="i"))
    return rows.transform_calculate(
        **{name: f"pow(10, {start:.6g} + {step:.6g} * datum.i)"}
    )


def log_axis(title: str, low: float, high: float, **axis: Any) -> dict[str, Any]:
    """Keywords of a channel: logarithmic, fixed domain, one grid line a decade."""
    import altair as alt

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
    import altair as alt

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


def landmark(channel: Any, signal: str, label: str, *, at: float = 0) -> Any:
    """A thin rule across the chart where ``channel`` (x or y) equals ``signal``.

    ``label`` stands at its end, ``at`` pixels down from the top (or from the left).
    """
    import altair as alt

    name = type(channel).__name__.lower()
    row = alt.Chart(alt.Data(values=[{}])).transform_calculate(
        **{str(channel.shorthand): signal}
    )
    rule = row.mark_rule(color=GREY.css, strokeDash=[3, 3], clip=True)
    text = {"color": GREY.css, "align": "left", "clip": True, "text": label}
    place = {"dx": 4, "dy": 10 + at, "y": 0} if name == "x" else {"dy": -6, "x": 4 + at}
    look: dict[str, Any] = {**text, **place}
    return alt.layer(
        rule.encode(**{name: channel}),
        row.mark_text(**look).encode(**{name: channel}),
    )


@dataclass(frozen=True)
class Curve:
    """One line: its name, its Vega expression over ``datum``, its ink and dash.

    The name is written so that it ends at ``label_at`` (a value on the x axis), on the
    free side of the line: below a falling line, above a rising one.
    """

    name: str
    expr: str
    ink: Ink
    label_at: float
    dash: tuple[int, ...] = ()
    rising: bool = False

    def drawn(self, x: Any, y: Any, *, over: tuple[float, float]) -> Any:
        """The line ``over`` a range of ``x``, and its name, as one Altair layer."""
        import altair as alt

        style = {"color": self.ink.css, "strokeDash": list(self.dash or (1, 0))}
        line = powers(*over, x.shorthand).mark_line(
            clip=True, interpolate="monotone", **style
        )
        place = alt.Chart(alt.Data(values=[{x.shorthand: self.label_at}]))
        label = place.mark_text(
            text=self.name,
            color=self.ink.css,
            align="right",
            dy=-9 if self.rising else 14,
            fontWeight="bold",
            clip=True,
        )
        both = (part.encode(x=x, y=y) for part in (line, label))
        return alt.layer(
            *(part.transform_calculate(**{y.shorthand: self.expr}) for part in both)
        )
