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

WEAK, STRONG = 1.0, 1e5  # FLOP/byte
INTENSITY = QuantityAxis(
    q.intensity,
    domain=(WEAK, STRONG),
    log=True,
    words="arithmetic intensity, log scale",
)
COMPUTE = QuantityAxis(
    q.attainable_flops,
    "TFLOP/s",
    domain=(3.0, 3e3),
    log=True,
    words="attainable compute, log scale",
)
WAYS = Cases(
    "way",
    Case("plain", "plain", SERIES[1], f.PLAIN_INTENSITY),
    Case("tiled", "tiled", SERIES[0], f.TILED_INTENSITY),
    Case("each once", "once", SERIES[2], f.ONCE_INTENSITY),
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
    "µs",
    words="time of attention, one layer, log scale",
    ticks={"values": [c * 10**n for n in range(-1, 5) for c in (1, 2, 5)]},
)
FULL = "held_bytes > hbm_bytes"  # memory is: the batch cannot exist
TILES = "ceil(context / tile_keys)"  # of keys: more splits than that have no work
EMPTY = f"{FULL} || {TILES} < 2"  # nothing can be split
LEAST = BoundMark("least time", q.least_read_s, GREY)
FULL_WAVES = "floor({} * n_sms / (n_kv_heads * batch))"  # splits that fill so many
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
    return alt.layer(*ridge, drawn.encode(x=x, y=y), height=215)


def _points() -> list[Any]:
    """A point for each way, faint where the tile does not fit, its name beside it."""
    from llmserve_lab.extras import altair as alt

    points = (
        alt.Chart(alt.Data(values=WAYS.rows()))
        .transform_calculate(
            intensity=WAYS.reads(INTENSITY, q.intensity),
            roof=WAYS.reads(COMPUTE, q.attainable_flops),
            seen=f"{TOO_LARGE} ? {FAINT} : 1",
            called=f"datum.way + ({TOO_LARGE} ? ' (no room)' : '')",
        )
        .encode(color=WAYS.color(legend=False))
    )
    opacity = alt.Opacity("seen", type="quantitative", scale=None)
    marks = [points.mark_point(size=170, clip=True).encode(opacity=opacity)]
    # Names stand on the free side of the roof, that of the last above it.
    last, slope = f"datum.way == '{WAYS.cases[-1].name}'", "datum.intensity < ridge"
    places = (
        (f"!({last}) && {slope}", "left", -6, 24),
        (f"!({last}) && !({slope})", "left", -10, 22),
        (f"{last} && {slope}", "right", -11, -9),
        (f"{last} && !({slope})", "right", 11, -15),
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

    curve = alt.Chart(alt.sequence(1, MOST_SPLITS + 1, as_="n_split"))
    curve = curve.transform_calculate(value=TOTAL.draw(TIME, n_split="datum.n_split"))
    ink = TOTAL.ink.css
    look: dict[str, Any] = {"align": "left", "dx": 12, "dy": -12}
    named = (
        alt.Chart(alt.Data(values=[{"n_split": 2}]))
        .transform_calculate(
            value=TOTAL.draw(TIME, n_split="2"), seen=f"{EMPTY} ? {FAINT} : 1"
        )
        .mark_text(text=TOTAL.name, fontWeight="bold", color=ink, **look)
        .encode(opacity=alt.Opacity("seen:Q", scale=None))
    )
    works = curve.transform_filter(f"!({FULL}) && datum.n_split <= {TILES}")
    drawn = [
        curve.mark_line(color=ink, strokeWidth=2, opacity=FAINT),
        works.mark_line(color=ink, strokeWidth=2.5),
        named,
    ]
    layers = alt.layer(*_least(), *drawn, *_waves(), *_chosen())
    x, y = SPLITS.on("x", "n_split"), TIME.on("y", "value")
    scale = alt.Scale(type="log", domain=_room(), nice=False)
    return layers.encode(x=x, y=y.scale(scale)).properties(height=230)


def _room() -> list[Any]:
    """Both ends of the axis of time: what is drawn, and room for its names.

    The curve is highest at one of its ends, up to a merge: few long splits, or many
    without work.
    """
    from llmserve_lab.extras import altair as alt

    ends = ", ".join(TOTAL.draw(TIME, n_split=str(n)) for n in (1, MOST_SPLITS))
    low, high = f"0.45 * ({LEAST.read(TIME)})", f"1.3 * max({ends})"
    return [alt.ExprRef(low), alt.ExprRef(high)]


def _waves() -> list[Any]:
    """Splits that fill one wave and two, and the one more that begins the second."""
    from llmserve_lab.extras import altair as alt

    first, second = (FULL_WAVES.format(n) for n in (1, 2))
    one, two = (
        f"({n} * n_kv_heads * batch < {waves} * n_sms ? ': nearly full' : ': full')"
        for n, waves in ((first, 1), (second, 2))
    )
    # Of a number that two names would share, the second is left out.
    places = (
        (first, f"{first} >= 1", one, "right", 20),
        (f"{first} + 1", f"{first} >= 1", "': next wave'", "center", -12),
        (second, f"{first} >= 1 && {second} > {first} + 1", two, "center", 34),
    )
    marks = list[Any]()
    for at, shown, text, align, down in places:
        point = (
            alt.Chart(alt.Data(values=[{}]))
            .transform_calculate(n_split=at, says=f"{at} + {text}")
            .transform_filter(
                f"{shown} && datum.n_split <= min({MOST_SPLITS}, {TILES})"
            )
            .transform_calculate(value=TOTAL.draw(TIME, n_split="datum.n_split"))
        )
        look: dict[str, Any] = {"align": align, "dy": down, "fontSize": 12}
        marks += [
            point.mark_point(color=INK.css, size=60, filled=True, opacity=1),
            point.mark_text(color=INK.css, **look).encode(text="says:N"),
        ]
    return marks


def _least() -> list[Any]:
    """A dashed line at the least time, its name on the side where no curve is."""
    from llmserve_lab.extras import altair as alt

    ends = alt.Chart(alt.Data(values=[{"n_split": 1}, {"n_split": MOST_SPLITS}]))
    line = ends.transform_calculate(value=LEAST.read(TIME))
    first = line.transform_filter("datum.n_split == 1")
    look: dict[str, Any] = {"align": "left", "dx": 5, "dy": 13}
    return [
        line.mark_line(color=LEAST.ink.css, strokeDash=[4, 3], strokeWidth=1.5),
        first.mark_text(text=LEAST.name, color=LEAST.ink.css, **look),
    ]


def _chosen() -> list[Any]:
    """The number of splits that the slider stands at, and its time."""
    from llmserve_lab.extras import altair as alt

    chosen = (
        alt.Chart(alt.Data(values=[{}]))
        .transform_calculate(n_split="n_split", value=TIME.reads(q.decode_attn_s))
        .transform_calculate(
            says=f"{FULL} ? 'memory full' : n_split > {TILES} ? "
            "'more splits than tiles' : format(datum.value, '.3r') + ' µs'"
        )
    )
    side = {"expr": "n_split < 2 ? 'left' : n_split > 32 ? 'right' : 'center'"}
    look: dict[str, Any] = {"fontWeight": "bold", "fontSize": 13}
    look["dx"] = {"expr": "n_split < 2 ? 14 : 0"}
    look["dy"] = {"expr": f"{FULL} ? -34 : -16"}
    return [
        chosen.mark_point(color=MEANINGS["new"].css, size=190, opacity=1),
        chosen.mark_text(color=INK.css, align=side, **look).encode(text="says:N"),
    ]
