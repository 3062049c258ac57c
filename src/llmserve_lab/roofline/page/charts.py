"""What the live figures draw: Altair charts whose every number is a formula's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.catalog import ModelShape
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import (
    BoundMark,
    Case,
    Cases,
    Landmark,
    Marks,
    landmarks,
)
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import GREY, MEANINGS, SERIES, Ink, series
from llmserve_lab.roofline import formulas as f

PHASES = Cases(
    "phase", *(Case(p, p, ink) for p, ink in series("decode", "prefill").items())
)
WEAK, STRONG = 0.5, 5e4  # FLOP/byte
LONGEST = 131_072.0  # tokens: the maximum context of the running example
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
    words="compute under the roof, log scale",
)
CONTEXT = QuantityAxis(
    q.context, domain=(128.0, LONGEST), log=True, words="tokens in cache, log scale"
)
TIME = QuantityAxis(q.iteration_s, "ms", words="time of an iteration")
FORMS = {
    "": (f.INTENSITY, (), 1.0),
    ", article": (f.LINEAR_INTENSITY, (5, 4), 0.7),
}
ONE = {"decode": "chunk", "prefill": "batch"}  # what a phase has one of
FULL = "held_bytes > hbm_bytes"  # memory is: the batch cannot exist
TOO_LARGE = "stored_bytes > hbm_bytes"  # the weights alone are
FAINT = 0.25
SEEN = 0.15  # the least share of idle time that is written into the gap
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
        *_points(),
    )
    ridge = landmarks(INTENSITY, "x", "intensity", Landmark("ridge", q.ridge))
    return alt.layer(*_sides(), *ridge, drawn.encode(x=x, y=y))


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
        words = one.mark_text(text=name, y={"expr": "height - 12"}, **look)
        marks.append(words.encode(x=x, color=alt.value(GREY.css)))
    return marks


def _gap(y: Any) -> list[Any]:
    """From decode's point up to the peak: the share of the arithmetic that is idle."""
    from llmserve_lab.extras import altair as alt

    roof, peak = PHASES.reads(COMPUTE, q.attainable_flops), "peak_flops * eff_compute"
    row = (
        alt.Chart(alt.Data(values=[{"phase": "decode"}]))
        .transform_calculate(
            intensity=PHASES.reads(INTENSITY, q.intensity),
            reached=roof,
            roof=COMPUTE.scaled(peak, q.attainable_flops),
        )
        .transform_calculate(idle="1 - datum.reached / datum.roof")
    )
    rule = row.mark_rule(color=GREY.css, strokeDash=[2, 3], strokeWidth=2, clip=True)
    words = (
        row.transform_filter(f"datum.idle > {SEEN}")
        .transform_calculate(
            roof="sqrt(datum.roof * datum.reached)",
            says="format(datum.idle, '.0%') + ' idle'",
        )
        .mark_text(align="left", dx=6, color=GREY.css, clip=True, fontSize=13)
    )
    return [
        rule.encode(y=y, y2="reached"),
        words.encode(text="says:N"),
    ]


def _points() -> list[Any]:
    """A point for each phase, faint where memory is full, its name on its own side."""
    from llmserve_lab.extras import altair as alt

    is_full = f"(datum.phase == 'decode' && {FULL}) || {TOO_LARGE}"
    points = (
        alt.Chart(alt.Data(values=PHASES.rows()))
        .transform_calculate(
            intensity=PHASES.reads(INTENSITY, q.intensity),
            roof=PHASES.reads(COMPUTE, q.attainable_flops),
            seen=f"({is_full}) ? {FAINT} : 1",
            called=f"datum.phase + (({is_full}) ? ' (memory full)' : '')",
        )
        .encode(color=PHASES.color(legend=False))
    )
    opacity = alt.Opacity("seen", type="quantitative", scale=None)
    marks = [points.mark_point(size=160, clip=True).encode(opacity=opacity)]
    # Decode's name stands below the roof, prefill's above it: they never meet.
    for phase, align, dx, dy in (
        ("decode", "left", 11, 13),
        ("prefill", "right", -9, -11),
    ):
        own = points.transform_filter(f"datum.phase == '{phase}'")
        look: dict[str, Any] = {"align": align, "dx": dx, "dy": dy, "clip": True}
        names = own.mark_text(fontWeight="bold", fontSize=14, **look)
        marks.append(names.encode(text="called:N"))
    return marks


def batch_and_context(batches: Sequence[tuple[float, float]]) -> Any:
    """Intensity of decode against context, a line a batch as far as memory goes."""
    from llmserve_lab.extras import altair as alt

    y = QuantityAxis(
        q.intensity,
        words="intensity of decode, log scale",
        domain=(0.7, 1000),
        log=True,
    )
    lines = [
        Drawn(
            f"batch {batch:g}",
            f.INTENSITY,
            ink,
            {"batch": batch, "chunk": "1", "weight_bytes": "weight_bytes"},
            label_at=0.5,
            dash=ink.dash,
            rising=batch == 1,
            over=(128.0, min(full, LONGEST)),
        )
        for ink, (batch, full) in zip(SERIES, batches, strict=False)
    ]
    here = alt.Chart(alt.Data(values=[{}])).transform_calculate(
        context=CONTEXT.reads(q.context),
        value=y.reads(q.intensity, "decode_intensity"),
        seen=f"{FULL} ? {FAINT} : 1",
    )
    opacity = alt.Opacity("seen", type="quantitative", scale=None)
    point = here.mark_point(size=170, color=GREY.css, clip=True).encode(opacity=opacity)
    called = here.transform_calculate(
        says=f"'your batch' + ({FULL} ? ' (memory full)' : '')"
    ).mark_text(dy=-14, fontWeight="bold", color=GREY.css, clip=True)
    at = {"x": CONTEXT.on("x", "context"), "y": y.on("y", "value")}
    return alt.layer(
        *landmarks(
            y,
            "y",
            "value",
            Landmark("ridge", q.ridge),
            Landmark("attention alone", q.attn_intensity),
        ),
        bound_curves(CONTEXT, y, *lines),
        point.encode(**at),
        called.encode(**at, text="says:N"),
    )


def intensity_against_context() -> Any:
    """Two phases, each with and without the FLOPs of attention, and three landmarks."""
    from llmserve_lab.extras import altair as alt

    y = QuantityAxis(
        q.intensity,
        domain=(0.3, 3e4),
        log=True,
        words="arithmetic intensity, log scale",
    )
    lines = [
        Drawn(
            phase.name + form,
            formula,
            phase.ink,
            {ONE[phase.name]: "1", "weight_bytes": "weight_bytes"},
            label_at=at,
            dash=dash,
        )
        for form, (formula, dash, at) in FORMS.items()
        for phase in PHASES.cases
    ]
    return alt.layer(
        _beyond(),
        *landmarks(y, "y", "value", Landmark("ridge", q.ridge)),
        *landmarks(
            CONTEXT,
            "x",
            "context",
            Landmark("KV = weights", q.crossover_context),
            Landmark("memory full", q.context_fits, down=16),
        ),
        bound_curves(CONTEXT, y, *lines),
    )


def _beyond() -> Any:
    """A grey ground where the batch's cache no longer fits into memory."""
    from llmserve_lab.extras import altair as alt

    ground = alt.Chart(alt.Data(values=[{}])).transform_calculate(
        context=f"min({CONTEXT.reads(q.context_fits)}, {LONGEST})", end=str(LONGEST)
    )
    look = ground.mark_rect(color=GREY.css, opacity=0.25, clip=True)
    return look.encode(x=CONTEXT.on("x", "context"), x2="end")


def iteration_time() -> Any:
    """For each phase a bar of reading (weights, then cache) and a bar of computing."""
    from llmserve_lab.extras import altair as alt

    layers, inks = [], dict[str, Ink]()
    for phase in PHASES.cases:
        weights, cache, compute = bars = Marks(
            BoundMark("read weights", q.weights_s, MEANINGS["weights"]),
            BoundMark("read cache", q.kv_s, MEANINGS["cache"], phase.signal(q.kv_s)),
            BoundMark(
                "compute", q.compute_s, MEANINGS["compute"], phase.signal(q.compute_s)
            ),
        )
        read = weights.read(TIME)
        spans = {
            weights.name: ("0", read),
            cache.name: (read, f"{read} + {cache.read(TIME)}"),
            compute.name: ("0", compute.read(TIME)),
        }
        gone = FULL if phase.name == "decode" else TOO_LARGE
        layers += [
            alt.Chart(alt.Data(values=[_lane(phase, name)]))
            .transform_calculate(start=start, end=end, seen=f"{gone} ? {FAINT} : 1")
            .mark_bar(height=26)
            for name, (start, end) in spans.items()
        ]
        inks |= bars.inks
    return alt.layer(*layers, height=200).encode(
        x=TIME.on("x", "start"),
        x2="end",
        y=alt.Y("lane", type="nominal", sort=None, title=None),
        color=by_ink("kind", inks)["color"],
        opacity=alt.Opacity("seen", type="quantitative", scale=None),
    )


def _lane(phase: Case, bar: str) -> dict[str, str]:
    """The row of a bar: its lane is called by its first word, *read* or *compute*."""
    return {"lane": f"{phase.name}: {bar.split()[0]}", "kind": bar}


def attention_kinds(models: Mapping[str, ModelShape]) -> Any:
    """One line a model: decode intensity while the context grows."""
    from llmserve_lab.extras import altair as alt

    x = QuantityAxis(
        q.context, domain=(64.0, 4e6), log=True, words="tokens in cache, log scale"
    )
    y = QuantityAxis(
        q.intensity,
        words="intensity of decode, log scale",
        domain=(0.03, 3000),
        log=True,
    )
    lines = [
        Drawn(
            f"{kind} ({model.name})",
            f.INTENSITY,
            ink,
            {"chunk": "1", **literals(kind, model)},
            label_at=0.73 if kind == "MLA" else 1.0,
            dash=ink.dash,
            rising=kind == "MLA",
        )
        for ink, (kind, model) in zip(SERIES, models.items(), strict=False)
    ]
    ridge = landmarks(y, "y", "value", Landmark("ridge", q.ridge))
    return alt.layer(*ridge, bound_curves(x, y, *lines))


def literals(kind: str, model: ModelShape) -> dict[str, str]:
    """A model's numbers as the browser reads them; κ is the signal of its kind."""
    return {
        "params_total": str(model.params_total),
        "params_active": str(model.params_active),
        "attn_flops_per_pair": str(model.attn_flops_per_pair()),
        "kv_bytes_per_token": kappa_of(kind),
    }


def kappa_of(kind: str) -> str:
    """Name of the signal that holds the KV bytes per token of one kind of attention."""
    return f"{kind.lower()}_kv_bytes_per_token"
