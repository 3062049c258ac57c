"""What the live figures draw: Altair charts whose every number is a formula's."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import (
    BoundMark,
    Case,
    Cases,
    Landmark,
    Marks,
    landmarks,
    picked,
)
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import GREY, MEANINGS, NARROW, Ink, series
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.page.kernels_chart import kernels

PHASES = Cases(
    "phase", *(Case(p, p, ink) for p, ink in series("decode", "prefill").items())
)
WEAK, STRONG = 0.5, 5e4  # FLOP/byte
INTENSITY = QuantityAxis(
    q.intensity,
    domain=(WEAK, STRONG),
    log=True,
    words="arithmetic intensity, log scale",
)
COMPUTE = QuantityAxis(
    q.attainable_flops,
    "TFLOP/s",
    domain=(0.7, 2e4),
    log=True,
    words="attainable compute, log scale",
)
PEAK = "peak_flops * eff_compute"
TIME = QuantityAxis(
    q.iteration_s, "ms", words="time of an iteration", ticks={"tickCount": 6}
)
FULL = "held_bytes > hbm_bytes"  # memory is: the batch cannot exist
TOO_LARGE = "stored_bytes > hbm_bytes"  # the weights alone are
FAINT = 0.25
LANE = 40  # pixels of a kernel's lane
BAR = 14  # pixels of each of its two bars
AT_EDGE = 6  # FLOP/byte: left of it no name fits before the point
RIGHT_OF = "datum.intensity > ridge && datum.intensity < 8 * ridge"
SEEN = 0.15  # the least share of idle time that is written into the gap
TALL = 0.7  # beyond this share the gap is tall enough for words beside it
SIDES = {  # of the ridge: the ink of what is waited for, and where its name begins
    "memory-bound": (MEANINGS["weights"], "right", -8),
    "compute-bound": (MEANINGS["compute"], "left", 8),
}


def roofline() -> Any:
    """The roof, both sides of the ridge, a point for each phase, and what is idle."""
    from llmserve_lab.extras import altair as alt

    x, y = INTENSITY.on("x", "intensity"), COMPUTE.on("y", "roof")
    corners = alt.Chart(alt.Data(values=[{"i": i} for i in range(3)]))
    line = corners.transform_calculate(
        intensity=f"[{WEAK}, {INTENSITY.reads(q.ridge)}, {STRONG}][datum.i]"
    ).transform_calculate(
        roof=COMPUTE.draws(f.ATTAINABLE_FLOPS, intensity="datum.intensity")
    )
    drawn = alt.layer(
        line.mark_line(color=GREY.css, clip=True),
        *_gap(y),
        *kernels(INTENSITY, COMPUTE, *(p.signal(q.intensity) for p in PHASES.cases)),
        *_points(),
    )
    ridge = landmarks(INTENSITY, "x", "intensity", Landmark("ridge", q.ridge))
    number = corners.transform_filter("datum.i == 1").transform_calculate(
        intensity=INTENSITY.reads(q.ridge), says=f"format({q.ridge.name}, '.0f')"
    )
    look: dict[str, Any] = {"color": GREY.css, "align": "left", "dx": 4, "y": 24}
    drawn = alt.layer(drawn.encode(x=x, y=y))
    said = number.mark_text(**look).encode(x=x, text="says:N")
    return alt.layer(*_sides(), *ridge, drawn, said, height=240)


def _busy() -> str:
    """Compute of the row's phase, its kernels one after the other, on the axis."""
    shares = {case.name: case.signal(q.mfu) for case in PHASES.cases}
    share = picked(PHASES.field, shares)
    return COMPUTE.scaled(f"{share} * {PEAK}", q.attainable_flops)


def _sides() -> list[Any]:
    """A pale ground on each side of the ridge, and its name at the foot."""
    from llmserve_lab.extras import altair as alt

    ends = {"memory-bound": WEAK, "compute-bound": STRONG}
    marks = []
    for name, (ink, align, dx) in SIDES.items():
        one = alt.Chart(alt.Data(values=[{}])).transform_calculate(
            intensity=INTENSITY.reads(q.ridge), side=str(ends[name])
        )
        x = INTENSITY.on("x", "intensity")
        ground = one.mark_rect(color=ink.css, opacity=0.09, clip=True)
        marks.append(ground.encode(x=x, x2="side"))
        look: dict[str, Any] = {"align": align, "dx": dx, "clip": True, "fontSize": 13}
        look |= {"y": {"expr": "height - 8"}, "color": GREY.css}
        marks.append(one.mark_text(text=name, **look).encode(x=x))
    return marks


def _gap(y: Any) -> list[Any]:
    """From decode's point up to the peak: the share of the arithmetic that is idle."""
    from llmserve_lab.extras import altair as alt

    row = (
        alt.Chart(alt.Data(values=[{"phase": "decode"}]))
        .transform_calculate(
            intensity=PHASES.reads(INTENSITY, q.intensity),
            reached=_busy(),
            roof=COMPUTE.scaled(PEAK, q.attainable_flops),
        )
        .transform_calculate(idle="1 - datum.reached / datum.roof")
    )
    ink = PHASES.inks["decode"].css
    rule = row.mark_rule(color=ink, strokeDash=[2, 2], strokeWidth=3, clip=True)
    idle = row.transform_filter(f"datum.idle > {SEEN}").transform_calculate(
        says="format(datum.idle, '.0%') + ' idle'"
    )
    # At the left edge there is room on the right of the line alone, high above it.
    marks = [rule.encode(y=y, y2="reached")]
    shown: dict[str, Any] = {"color": GREY.css, "clip": True, "fontSize": 13}
    # A short gap has no room beside it, nor one next to prefill's name on the slope:
    # the words stand above the roof.
    prefill = PHASES.cases[1].signal(q.intensity)
    slope = f"{prefill} < ridge"
    short = f"datum.idle <= {TALL} || ({slope} && datum.intensity >= {AT_EDGE})"
    above = idle.transform_filter(short)
    lift = alt.ExprRef(f"{slope} ? -27 : -14")
    look: dict[str, Any] = {"align": "right", "dx": 4, "dy": lift}
    marks.append(above.mark_text(**look, **shown).encode(text="says:N"))
    idle = idle.transform_filter(f"!({short})")
    for where, share, align, dx in (("<", 0.62, "left", 6), (">=", 0.5, "right", -6)):
        look = {"align": align, "dx": dx}
        high = f"pow(datum.roof, {share}) * pow(datum.reached, 1 - {share})"
        words = idle.transform_filter(
            f"datum.intensity {where} {AT_EDGE}"
        ).transform_calculate(roof=high)
        marks.append(words.mark_text(**look, **shown).encode(text="says:N"))
    return marks


def _points() -> list[Any]:
    """A point for each phase, faint where memory is full, its name on its own side.

    Its height is what the kernels do in turn: on the roof where all wait for the same.
    """
    from llmserve_lab.extras import altair as alt

    is_full = f"(datum.phase == 'decode' && {FULL}) || {TOO_LARGE}"
    points = (
        alt.Chart(alt.Data(values=PHASES.rows()))
        .transform_calculate(
            intensity=PHASES.reads(INTENSITY, q.intensity),
            roof=_busy(),
            seen=f"({is_full}) ? {FAINT} : 1",
        )
        .transform_calculate(
            number="' ' + format(datum.roof, '.3~r')"
            f" + (width < {NARROW} ? '' : ' TFLOP/s')",
            called=f"datum.phase + (({is_full}) ? ' (memory full)' : datum.number)",
        )
        .encode(color=PHASES.color(legend=False))
    )
    opacity = alt.Opacity("seen", type="quantitative", scale=None)
    marks = [points.mark_point(size=160, clip=True).encode(opacity=opacity)]
    # Decode's name stands below the roof, prefill's above it, clear of the ridge.
    for which, align, dx, dy in (
        ("datum.phase == 'decode'", "left", 11, 13),
        (f"datum.phase == 'prefill' && {RIGHT_OF}", "left", 4, -13),
        (f"datum.phase == 'prefill' && !({RIGHT_OF})", "right", -9, -13),
    ):
        own = points.transform_filter(which)
        look: dict[str, Any] = {"align": align, "dx": dx, "dy": dy, "clip": True}
        names = own.mark_text(fontWeight="bold", fontSize=14, **look)
        marks.append(names.encode(text="called:N"))
    return marks


def iteration_time() -> Any:
    """For each phase two kernels in turn, each a bar of reading and one of computing.

    Attention begins when the longer bar of the products has ended.
    """
    from llmserve_lab.extras import altair as alt

    layers, inks = [], dict[str, Ink]()
    for phase in PHASES.cases:
        bars = Marks(
            BoundMark("read weights", q.weights_s, MEANINGS["weights"]),
            *(
                BoundMark(name, quantity, ink, phase.signal(quantity))
                for name, quantity, ink in (
                    ("read cache", q.kv_s, MEANINGS["cache"]),
                    ("compute products", q.linear_s, MEANINGS["compute"]),
                    ("compute attention", q.pairs_s, MEANINGS["other"]),
                )
            ),
        )
        weights, cache, products, attention = (bar.read(TIME) for bar in bars)
        then = f"max({weights}, {products})"  # attention begins
        ends = (
            ("products", "0", weights),
            ("attention", then, f"{then} + {cache}"),
            ("products", "0", products),
            ("attention", then, f"{then} + {attention}"),
        )
        spans = {bar.name: span for bar, span in zip(bars, ends, strict=True)}
        gone = FULL if phase.name == "decode" else TOO_LARGE
        layers += [
            alt.Chart(alt.Data(values=[_lane(phase, kernel, name)]))
            .transform_calculate(start=start, end=end, seen=f"{gone} ? {FAINT} : 1")
            .mark_bar(height=BAR, yOffset=_beside(name))
            for name, (kernel, start, end) in spans.items()
        ]
        inks |= bars.inks
    bars_only = alt.layer(*layers, height=4 * LANE).encode(
        x=TIME.on("x", "start"),
        x2="end",
        y=alt.Y(
            "lane", type="nominal", sort=None, title=None, axis=alt.Axis(minExtent=116)
        ),
        color=by_ink("kind", inks)["color"].legend(
            columns=alt.ExprRef(f"width < {NARROW} ? 1 : 4")  # beside the axis' names
        ),
        opacity=alt.Opacity("seen", type="quantitative", scale=None),
    )
    return alt.layer(bars_only, _begins(), *_lasts())


def _beside(bar: str) -> float:
    """Of the two bars of a kernel that of reading is the upper one."""
    return (-0.5 if bar.startswith("read") else 0.5) * (BAR + 1)


def _begins() -> Any:
    """A rule across both kernels of a phase, where its attention begins."""
    from llmserve_lab.extras import altair as alt

    rows = [
        {"phase": each.name, "top": 2 * place * LANE, "foot": 2 * (place + 1) * LANE}
        for place, each in enumerate(PHASES.cases)
    ]
    products, weights = PHASES.reads(TIME, q.linear_s), TIME.reads(q.weights_s)
    at = alt.Chart(alt.Data(values=rows)).transform_calculate(
        start=f"max({weights}, {products})"
    )
    pixels: dict[str, Any] = {"type": "quantitative", "scale": None, "axis": None}
    rule = at.mark_rule(color=GREY.css, strokeDash=[3, 3])
    across = TIME.on("x", "start")
    return rule.encode(x=across, y=alt.Y("top", **pixels), y2="foot")


def _lasts() -> list[Any]:
    """Where each phase's attention ends: how long its iteration lasts."""
    from llmserve_lab.extras import altair as alt

    rows = [
        {"phase": phase.name, "lane": f"{phase.name}: attention"}
        for phase in PHASES.cases
    ]
    lasts = PHASES.reads(TIME, q.iteration_s)
    ends = (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(start=lasts, room=f"1.35 * ({lasts})")
        .transform_calculate(says="format(datum.start, '.3r') + ' ms'")
        .encode(y=alt.Y("lane", type="nominal", sort=None, title=None))
    )
    look: dict[str, Any] = {"align": "left", "dx": 5, "fontWeight": "bold"}
    words = ends.mark_text(color=GREY.css, fontSize=13, **look)
    across = TIME.on("x", "start")
    unseen = ends.mark_point(opacity=0)  # keeps room on the right for the words
    return [
        words.encode(x=across, text="says:N"),
        unseen.encode(x=TIME.on("x", "room")),
    ]


def _lane(phase: Case, kernel: str, bar: str) -> dict[str, str]:
    """The lane of a bar: its phase, and the kernel that reads or computes."""
    return {"lane": f"{phase.name}: {kernel}", "kind": bar}
