"""What the live figures draw: Altair charts whose every number is a formula's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.catalog import ModelShape
from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.marks import by_ink, landmark
from llmserve_lab.page.palette import BLUE, GREEN, GREY, SERIES, VERMILLION
from llmserve_lab.roofline import formulas as f

PHASES = {"decode": BLUE, "prefill": VERMILLION}
WEAK, STRONG = 0.02, 1e6  # FLOP/byte
INTENSITY = QuantityAxis(q.intensity, domain=(WEAK, STRONG), log=True)
COMPUTE = QuantityAxis(q.attainable_flops, "TFLOP/s", domain=(0.03, 8000), log=True)
CONTEXT = QuantityAxis(q.context, domain=(64.0, 4e6), log=True)
TIME = QuantityAxis(q.iteration_s, "ms", words="time of an iteration")
FORMS = {
    "": (f.INTENSITY, (), 1.0),
    ", article": (f.LINEAR_INTENSITY, (5, 4), 0.7),
}
BARS = {"read weights": GREEN, "read cache": BLUE, "compute": VERMILLION}


def roofline() -> Any:
    """The roof, the ridge, and a point for each phase."""
    from llmserve_lab.extras import altair as alt

    x, y = INTENSITY.of("x", "intensity"), COMPUTE.of("y", "roof")
    corners = alt.Chart(alt.Data(values=[{"i": i} for i in range(3)]))
    line = corners.transform_calculate(
        intensity=f"[{WEAK}, {INTENSITY.reads(q.ridge)}, {STRONG}][datum.i]"
    ).transform_calculate(
        roof=COMPUTE.draws(f.ATTAINABLE_FLOPS, intensity="datum.intensity")
    )
    points = (
        alt.Chart(alt.Data(values=[{"phase": phase} for phase in PHASES]))
        .transform_calculate(
            intensity=_by_phase(INTENSITY, q.intensity),
            roof=_by_phase(COMPUTE, q.attainable_flops),
        )
        .encode(color=by_ink("phase", PHASES, legend=False)["color"])
    )
    names = points.mark_text(
        dx=12, align="left", dy=14, fontWeight="bold", fontSize=14, clip=True
    )
    drawn = alt.layer(
        line.mark_line(color=GREY.css, clip=True),
        points.mark_point(size=160, opacity=1, clip=True),
        names.encode(text="phase:N"),
    )
    return alt.layer(landmark(x, "ridge", "ridge"), drawn.encode(x=x, y=y))


def _by_phase(axis: QuantityAxis, quantity: Quantity) -> str:
    """A Vega expression that picks the signal of the row's phase."""
    each = [f"'{p}': {axis.reads(quantity, f'{p}_{quantity.name}')}" for p in PHASES]
    return f"({{{', '.join(each)}}})[datum.phase]"


def intensity_against_context() -> Any:
    """Two phases, each with and without the FLOPs of attention, and three landmarks."""
    from llmserve_lab.extras import altair as alt

    y = QuantityAxis(q.intensity, domain=(0.03, 3e5), log=True)
    across, up = CONTEXT.of("x", "context"), y.of("y", "value")
    lines = [
        Drawn(phase + form, formula, ink, {one: "1"}, label_at=at, dash=dash)
        for form, (formula, dash, at) in FORMS.items()
        for (phase, ink), one in zip(PHASES.items(), ("chunk", "batch"), strict=True)
    ]
    return alt.layer(
        landmark(up, y.reads(q.ridge), "ridge"),
        landmark(across, CONTEXT.reads(q.crossover_context), "KV = weights"),
        landmark(across, CONTEXT.reads(q.context_fits), "memory full", at=16),
        bound_curves(CONTEXT, y, *lines),
    )


def iteration_time() -> Any:
    """For each phase a bar of reading (weights, then cache) and a bar of computing."""
    from llmserve_lab.extras import altair as alt

    weights = TIME.reads(q.weights_s)
    layers = []
    for phase in PHASES:
        cache = TIME.reads(q.kv_s, f"{phase}_kv_s")
        compute = TIME.reads(q.compute_s, f"{phase}_compute_s")
        bars = {
            "read weights": ("read", "0", weights),
            "read cache": ("read", weights, f"{weights} + {cache}"),
            "compute": ("compute", "0", compute),
        }
        layers += [
            alt.Chart(alt.Data(values=[{"lane": f"{phase}: {lane}", "kind": kind}]))
            .transform_calculate(start=start, end=end)
            .mark_bar(height=26)
            for kind, (lane, start, end) in bars.items()
        ]
    return alt.layer(*layers, height=200).encode(
        x=TIME.of("x", "start"),
        x2="end",
        y=alt.Y("lane", type="nominal", sort=None, title=None),
        color=by_ink("kind", BARS)["color"],
    )


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
    ridge = landmark(y.of("y", "value"), y.reads(q.ridge), "ridge")
    return alt.layer(ridge, bound_curves(CONTEXT, y, *lines))


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
