"""What the live figures draw: Altair charts whose every number is a formula's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.catalog import ModelShape
from llmserve_lab.page.live.marks import Curve, by_ink, curves, landmark, log_axis
from llmserve_lab.page.palette import BLUE, GREEN, GREY, SERIES, VERMILLION
from llmserve_lab.roofline import formulas as f

PHASES = {"decode": BLUE, "prefill": VERMILLION}
CONTEXTS = (64.0, 4e6)
INTENSITIES = (0.02, 1e6)
FORMS = {
    "": (f.INTENSITY, (), 1.0),
    ", article": (f.LINEAR_INTENSITY, (5, 4), 0.7),
}
BARS = {"read weights": GREEN, "read cache": BLUE, "compute": VERMILLION}
INTENSITY_TITLE = "arithmetic intensity (FLOP/byte)"
CONTEXT_TITLE = "context in cache (tokens per request)"


def roofline() -> Any:
    """The roof, the ridge, and a point for each phase."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("intensity", **log_axis(INTENSITY_TITLE, *INTENSITIES))
    y = alt.Y("tflops", **log_axis("compute under the roof (TFLOP/s)", 0.03, 8000))
    roof = f.ATTAINABLE_FLOPS.browser({"intensity": "datum.intensity"})
    corners = alt.Chart(alt.Data(values=[{"i": i} for i in range(3)]))
    left, right = INTENSITIES
    line = corners.transform_calculate(
        intensity=f"[{left}, ridge, {right}][datum.i]"
    ).transform_calculate(tflops=f"{roof} / 1e12")
    points = (
        alt.Chart(alt.Data(values=[{"phase": phase} for phase in PHASES]))
        .transform_calculate(
            intensity=_by_phase("{}_intensity"), flops=_by_phase("{}_flops")
        )
        .transform_calculate(tflops="datum.flops / 1e12")
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


def _by_phase(template: str) -> str:
    """A Vega expression that picks the signal of the row's phase."""
    decode, prefill = (template.format(phase) for phase in PHASES)
    return f"datum.phase == 'decode' ? {decode} : {prefill}"


def intensity_against_context() -> Any:
    """Two phases, each with and without the FLOPs of attention, and three landmarks."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("context", **log_axis(CONTEXT_TITLE, *CONTEXTS))
    y = alt.Y("value", **log_axis(INTENSITY_TITLE, 0.03, 3e5))
    lines = [
        Curve(
            phase + form,
            formula.browser({"context": "datum.context", name: "1"}),
            ink,
            label_at=at,
            dash=dash,
        )
        for form, (formula, dash, at) in FORMS.items()
        for (phase, ink), name in zip(PHASES.items(), ("chunk", "batch"), strict=True)
    ]
    return alt.layer(
        landmark(y, "ridge", "ridge"),
        landmark(x, "crossover_context", "KV = weights"),
        landmark(x, "context_fits", "memory full", at=16),
        curves(x, y, CONTEXTS, *lines),
    )


def iteration_time() -> Any:
    """For each phase a bar of reading (weights, then cache) and a bar of computing."""
    from llmserve_lab.extras import altair as alt

    bars = {
        "read weights": ("read", "0", "weights_s"),
        "read cache": ("read", "weights_s", "weights_s + {}_kv_s"),
        "compute": ("compute", "0", "{}_compute_s"),
    }
    layers = [
        alt.Chart(alt.Data(values=[{"lane": f"{phase}: {lane}", "kind": kind}]))
        .transform_calculate(
            start=f"1e3 * ({start.format(phase)})", end=f"1e3 * ({end.format(phase)})"
        )
        .mark_bar(height=26)
        for phase in PHASES
        for kind, (lane, start, end) in bars.items()
    ]
    color = by_ink("kind", BARS)["color"]
    return alt.layer(*layers, height=200).encode(
        x=alt.X("start", type="quantitative", title="time (ms)"),
        x2="end",
        y=alt.Y("lane", type="nominal", sort=None, title=None),
        color=color,
    )


def attention_kinds(models: Mapping[str, ModelShape]) -> Any:
    """One line a model: decode intensity while the context grows."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("context", **log_axis(CONTEXT_TITLE, *CONTEXTS))
    y = alt.Y("value", **log_axis("decode intensity (FLOP/byte)", 0.03, 3000))
    lines = [
        Curve(
            f"{kind} ({model.name})",
            f.INTENSITY.browser(
                {"context": "datum.context", "chunk": "1", **literals(kind, model)}
            ),
            ink,
            label_at=0.73 if kind == "MLA" else 1.0,
            dash=ink.dash,
            rising=kind == "MLA",
        )
        for ink, (kind, model) in zip(SERIES, models.items(), strict=False)
    ]
    return alt.layer(landmark(y, "ridge", "ridge"), curves(x, y, CONTEXTS, *lines))


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
