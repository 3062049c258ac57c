"""Drawn against the context: intensity of batches, and of kinds of attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.catalog import ModelShape
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import Landmark, landmarks
from llmserve_lab.page.palette import GREY, SERIES
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.page.charts import FAINT, FULL

LONGEST = 131_072.0  # tokens: the maximum context of the running example
CONTEXT = QuantityAxis(
    q.context, domain=(32.0, LONGEST), log=True, words="cache, log scale"
)
TOP, STEPS = 1000, 40  # FLOP/byte at the top; points along the edge of a ground
MIDDLE = 1500  # tokens: right of it a name stands on the left of its point
NAMED: dict[str, Any] = {"fontWeight": "bold", "color": GREY.css, "clip": True}
BESIDE: Any = (("<=", "left", 10), (">", "right", -8))
NAMES_AT = {1.0: 0.75, 64.0: 0.15}  # share of a line, where no point comes
EIGHT = 8.0  # up to this batch a line is flat or rises: its name stands above it


def batch_and_context(batches: Sequence[tuple[float, float]]) -> Any:
    """Intensity of decode against context: batches as far as memory goes, and all.

    Above the line of a batch without end the ground is shaded.
    """
    from llmserve_lab.extras import altair as alt

    y = QuantityAxis(
        q.intensity,
        words="intensity of decode, log scale",
        domain=(0.7, TOP),
        log=True,
    )
    lines = [
        Drawn(
            f"batch {batch:g}",
            f.INTENSITY,
            ink,
            {"batch": batch, "chunk": "1", "weight_bytes": "weight_bytes"},
            label_at=NAMES_AT.get(batch, 0.5),
            dash=ink.dash,
            rising=batch <= EIGHT,
            over=(128.0, min(full, LONGEST)),
        )
        for ink, (batch, full) in zip(SERIES[:3:2], batches, strict=True)
    ]
    lines.append(
        Drawn(
            "endless",
            f.ENDLESS_INTENSITY,
            SERIES[3],
            {"chunk": "1"},
            label_at=0.2,
            dash=SERIES[3].dash,
            means="endless",
            over=(128.0, LONGEST),
        )
    )
    here = alt.Chart(alt.Data(values=[{}])).transform_calculate(
        context=CONTEXT.reads(q.context),
        value=y.reads(q.intensity, "decode_intensity"),
        seen=f"{FULL} ? {FAINT} : 1",
    )
    opacity = alt.Opacity("seen", type="quantitative", scale=None)
    point = here.mark_point(size=170, color=GREY.css, clip=True).encode(opacity=opacity)
    called = here.transform_calculate(says=f"{FULL} ? 'memory full' : 'your batch'")
    at = {"x": CONTEXT.on("x", "context"), "y": y.on("y", "value")}
    return alt.layer(
        *_out_of_reach(y),
        *landmarks(
            y,
            "y",
            "value",
            Landmark("ridge", q.ridge),
            Landmark("attention alone", q.attn_intensity),
        ),
        bound_curves(CONTEXT, y, *lines),
        point.encode(**at),
        *(
            called.transform_filter(f"datum.context {side} {MIDDLE}")
            .mark_text(**NAMED, **{"align": align, "dx": dx, "dy": 13})
            .encode(**at, text="says:N")
            for side, align, dx in BESIDE
        ),
        height=240,
    )


def _out_of_reach(y: QuantityAxis) -> list[Any]:
    """A shaded ground from the batch without end to the top, where no batch can lie."""
    from llmserve_lab.extras import altair as alt

    low, high = 128.0, LONGEST
    rows = [{"context": low * (high / low) ** (n / STEPS)} for n in range(STEPS + 1)]
    limit = y.draws(f.ENDLESS_INTENSITY, context="datum.context", chunk="1")
    ends = alt.Chart(alt.Data(values=rows)).transform_calculate(
        value=f"min({limit}, {TOP})", top=f"{TOP}"
    )
    x, up = CONTEXT.on("x", "context"), y.on("y", "value")
    ground = ends.mark_area(color=GREY.css, opacity=0.16, clip=True)
    at = alt.Chart(alt.Data(values=[{"context": 8192.0, "value": 480.0}]))
    look: dict[str, Any] = {"color": GREY.css, "fontSize": 13}
    name = at.mark_text(text="no batch gets here", **look)
    return [ground.encode(x=x, y=up, y2="top"), name.encode(x=x, y=up)]


def attention_kinds(models: Mapping[str, ModelShape]) -> Any:
    """One line a model: decode intensity while the context grows."""
    from llmserve_lab.extras import altair as alt

    x = QuantityAxis(q.context, domain=(64.0, 4e6), log=True, words="cache, log scale")
    y = QuantityAxis(
        q.intensity,
        words="intensity of decode, log scale",
        domain=(0.03, 3000),
        log=True,
    )
    lines = [
        Drawn(
            kind,
            f.INTENSITY,
            ink,
            {"chunk": "1", **literals(kind, model)},
            label_at=0.3 if kind == "MLA" else 1.0,
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
        "params_read": str(model.params_read),
        "params_active": str(model.params_active),
        "attn_flops_per_pair": str(model.attn_flops_per_pair()),
        "kv_bytes_per_token": kappa_of(kind),
    }


def kappa_of(kind: str) -> str:
    """Name of the signal that holds the KV bytes per token of one kind of attention."""
    return f"{kind.lower()}_kv_bytes_per_token"
