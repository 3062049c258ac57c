"""What the live figures draw: Altair charts whose every number is a formula's."""

from __future__ import annotations

from collections.abc import Mapping
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
WEAK, STRONG = 0.02, 1e6  # FLOP/byte
INTENSITY = QuantityAxis(q.intensity, domain=(WEAK, STRONG), log=True)
COMPUTE = QuantityAxis(q.attainable_flops, "TFLOP/s", domain=(0.03, 8000), log=True)
CONTEXT = QuantityAxis(q.context, domain=(64.0, 4e6), log=True)
TIME = QuantityAxis(q.iteration_s, "ms", words="time of an iteration")
FORMS = {
    "": (f.INTENSITY, (), 1.0),
    ", article": (f.LINEAR_INTENSITY, (5, 4), 0.7),
}
ONE = {"decode": "chunk", "prefill": "batch"}  # what a phase has one of


def roofline() -> Any:
    """The roof, the ridge, and a point for each phase."""
    from llmserve_lab.extras import altair as alt

    x, y = INTENSITY.on("x", "intensity"), COMPUTE.on("y", "roof")
    corners = alt.Chart(alt.Data(values=[{"i": i} for i in range(3)]))
    line = corners.transform_calculate(
        intensity=f"[{WEAK}, {INTENSITY.reads(q.ridge)}, {STRONG}][datum.i]"
    ).transform_calculate(
        roof=COMPUTE.draws(f.ATTAINABLE_FLOPS, intensity="datum.intensity")
    )
    points = (
        alt.Chart(alt.Data(values=PHASES.rows()))
        .transform_calculate(
            intensity=PHASES.reads(INTENSITY, q.intensity),
            roof=PHASES.reads(COMPUTE, q.attainable_flops),
        )
        .encode(color=PHASES.color(legend=False))
    )
    names = points.mark_text(
        dx=12, align="left", dy=14, fontWeight="bold", fontSize=14, clip=True
    )
    drawn = alt.layer(
        line.mark_line(color=GREY.css, clip=True),
        points.mark_point(size=160, opacity=1, clip=True),
        names.encode(text="phase:N"),
    )
    ridge = landmarks(INTENSITY, "x", "intensity", Landmark("ridge", q.ridge))
    return alt.layer(*ridge, drawn.encode(x=x, y=y))


def intensity_against_context() -> Any:
    """Two phases, each with and without the FLOPs of attention, and three landmarks."""
    from llmserve_lab.extras import altair as alt

    y = QuantityAxis(q.intensity, domain=(0.03, 3e5), log=True)
    lines = [
        Drawn(
            phase.name + form,
            formula,
            phase.ink,
            {ONE[phase.name]: "1"},
            label_at=at,
            dash=dash,
        )
        for form, (formula, dash, at) in FORMS.items()
        for phase in PHASES.cases
    ]
    return alt.layer(
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
        layers += [
            alt.Chart(alt.Data(values=[_lane(phase, name)]))
            .transform_calculate(start=start, end=end)
            .mark_bar(height=26)
            for name, (start, end) in spans.items()
        ]
        inks |= bars.inks
    return alt.layer(*layers, height=200).encode(
        x=TIME.on("x", "start"),
        x2="end",
        y=alt.Y("lane", type="nominal", sort=None, title=None),
        color=by_ink("kind", inks)["color"],
    )


def _lane(phase: Case, bar: str) -> dict[str, str]:
    """The row of a bar: its lane is called by its first word, *read* or *compute*."""
    return {"lane": f"{phase.name}: {bar.split()[0]}", "kind": bar}


def attention_kinds(models: Mapping[str, ModelShape]) -> Any:
    """One line a model: decode intensity while the context grows."""
    from llmserve_lab.extras import altair as alt

    y = QuantityAxis(
        q.intensity, words="decode intensity", domain=(0.03, 3000), log=True
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
    return alt.layer(*ridge, bound_curves(CONTEXT, y, *lines))


def literals(kind: str, model: ModelShape) -> dict[str, str]:
    """A model's numbers as the browser reads them; κ is the signal of its kind."""
    return {
        "params_read": str(model.params_read),
        "params_active": str(model.params_active),
        "attn_flops_per_pair": str(model.attn_flops_per_pair()),
        "kv_bytes_per_token": kappa_of(kind),
    }


def kappa_of(kind: str) -> str:
    """Name of the signal that holds the KV bytes per token of one kind of attention."""
    return f"{kind.lower()}_kv_bytes_per_token"
