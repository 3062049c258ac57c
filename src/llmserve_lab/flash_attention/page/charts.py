"""What the live figures draw: three points under one roof, and time against splits."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import (
    BoundMark,
    Case,
    Cases,
    Landmark,
    landmarks,
)
from llmserve_lab.page.palette import GREY, INK, MEANINGS, SERIES
from llmserve_lab.roofline.formulas import ATTAINABLE_FLOPS

WEAK, STRONG = 5.0, 1e5  # FLOP/byte
INTENSITY = QuantityAxis(
    q.intensity,
    domain=(WEAK, STRONG),
    log=True,
    words="arithmetic intensity, log scale",
)
COMPUTE = QuantityAxis(
    q.attainable_flops,
    "TFLOP/s",
    domain=(10.0, 3e3),
    log=True,
    words="attainable compute, log scale",
)
WAYS = Cases(
    "way",
    Case("plain", "plain", SERIES[1], f.PLAIN_INTENSITY),
    Case("tiled", "tiled", SERIES[0], f.TILED_INTENSITY),
    Case("every number once", "once", SERIES[2], f.ONCE_INTENSITY),
)
TOO_LARGE = "datum.way == 'tiled' && chip_share > 1"  # the tile does not fit
FAINT = 0.25
MOST_SPLITS = 64
SPLITS = QuantityAxis(
    q.n_split,
    words="splits of the keys, log scale",
    domain=(1, MOST_SPLITS),
    log=True,
    ticks={"values": [1, 2, 4, 8, 16, 32, 64]},
)
TIME = QuantityAxis(
    q.decode_attn_s,
    "ms",
    words="time of attention, one layer",
    ticks={"tickCount": 5},
)
TOTAL = BoundMark("attention, with its merge", f.DECODE_ATTN_S, MEANINGS["cache"])


def roof() -> Any:
    """The roof of the datasheet, and on it a point for each way to move the bytes."""
    from llmserve_lab.extras import altair as alt

    x, y = INTENSITY.on("x", "intensity"), COMPUTE.on("y", "roof")
    corners = alt.Chart(alt.Data(values=[{"i": i} for i in range(3)]))
    line = corners.transform_calculate(
        intensity=f"[{WEAK:g}, {INTENSITY.reads(q.ridge)}, {STRONG:g}][datum.i]"
    ).transform_calculate(
        roof=COMPUTE.draws(ATTAINABLE_FLOPS, intensity="datum.intensity")
    )
    ridge = landmarks(INTENSITY, "x", "intensity", Landmark("ridge", q.ridge))
    drawn = alt.layer(line.mark_line(color=GREY.css, clip=True), *_points())
    return alt.layer(*ridge, drawn.encode(x=x, y=y), height=270)


def _points() -> list[Any]:
    """A point for each way, faint where the tile does not fit, its name beside it."""
    from llmserve_lab.extras import altair as alt

    points = (
        alt.Chart(alt.Data(values=WAYS.rows()))
        .transform_calculate(
            intensity=WAYS.reads(INTENSITY, q.intensity),
            roof=WAYS.reads(COMPUTE, q.attainable_flops),
            seen=f"{TOO_LARGE} ? {FAINT} : 1",
            called=f"datum.way + ({TOO_LARGE} ? ' (does not fit)' : '')",
        )
        .encode(color=WAYS.color(legend=False))
    )
    opacity = alt.Opacity("seen", type="quantitative", scale=None)
    marks = [points.mark_point(size=170, clip=True).encode(opacity=opacity)]
    # Names stand on the free side of the roof: below its slope, above its flat part.
    places = (
        ("datum.way != 'every number once'", "left", 11, 15),
        ("datum.way == 'every number once' && datum.intensity < 3000", "left", -6, -15),
        (
            "datum.way == 'every number once' && datum.intensity >= 3000",
            "right",
            6,
            -15,
        ),
    )
    for which, align, dx, dy in places:
        look: dict[str, Any] = {"align": align, "dx": dx, "dy": dy, "clip": True}
        names = points.transform_filter(which).mark_text(
            fontWeight="bold", fontSize=14, **look
        )
        marks.append(names.encode(text="called:N"))
    return marks


def splits() -> Any:
    """Time of attention for every number of splits, and the one that is chosen."""
    from llmserve_lab.extras import altair as alt

    rows = alt.sequence(1, MOST_SPLITS + 1, as_="n")
    curve = alt.Chart(rows).transform_calculate(
        n_split="datum.n", value=TOTAL.draw(TIME, n_split="datum.n")
    )
    chosen = alt.Chart(alt.Data(values=[{}])).transform_calculate(
        n_split="n_split", value=TIME.reads(q.decode_attn_s)
    )
    x, y = SPLITS.on("x", "n_split"), TIME.on("y", "value")
    ink = TOTAL.ink.css
    said = chosen.transform_calculate(says="format(datum.value, '.3r') + ' ms'")
    look: dict[str, Any] = {"dy": -14, "fontWeight": "bold", "fontSize": 13}
    side = {"expr": "n_split < 8 ? 'left' : 'center'"}
    named = curve.transform_filter("datum.n == 2").mark_text(
        text=TOTAL.name, align="left", dx=12, dy=-4, fontWeight="bold", color=ink
    )
    drawn = [
        curve.mark_line(color=ink, strokeWidth=2),
        curve.mark_point(color=ink, size=16),
        named,
        chosen.mark_point(color=MEANINGS["new"].css, size=190),
        said.mark_text(color=INK.css, align=side, **look).encode(text="says:N"),
    ]
    least = landmarks(
        TIME,
        "y",
        "value",
        Landmark("least: the whole bandwidth", q.least_read_s, down=0),
    )
    return alt.layer(*least, alt.layer(*drawn).encode(x=x, y=y), height=260)
