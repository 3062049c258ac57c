"""What the live figures draw: Altair charts whose every number is a formula's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.book.charts import Curve, by_ink, curves, log_axis
from llmserve_lab.book.palette import BLUE, GREEN, GREY, SERIES, VERMILLION
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.controls import PLACES, SHAPES, twin
from llmserve_lab.deepseek.setup import SETUPS
from llmserve_lab.roofline.formulas import BATCH_FITS

PARTS = (
    f.MLA_READ_S,
    f.MLA_COMPUTE_S,
    f.MLA_S,
    f.EXPERT_READ_S,
    f.EXPERT_COMPUTE_S,
    f.EXPERTS_S,
    f.WIRE_S,
    f.REST_S,
)
WAYS = {"two halves": VERMILLION, "one after another": BLUE}
KINDS = {"read": GREEN, "compute": VERMILLION, "send": BLUE, "rest": GREY}
CONTEXTS = (1024.0, 262_144.0)


def frontier(fixed: Mapping[str, float]) -> Any:
    """Both ways to run a step as a curve over the batch, and the reader's point."""
    import altair as alt

    x = alt.X("user", **log_axis("tokens/s that a user sees", 1, 300))
    y = alt.Y("gpu", **log_axis("tokens/s of a GPU", 10, 30_000))
    names = {name: repr(value) for name, value in fixed.items()} | {"chunk": "1"}
    steps = {
        "two halves": f.HIDDEN_S.browser(
            names | {"batch": "(datum.b / 2)", "n_batches": "2"}
        ),
        "one after another": f.TURN_S.browser(names | {"batch": "datum.b"}),
    }
    layers = [
        alt.Chart(alt.sequence(0, 23, as_="i"))
        .transform_calculate(b="pow(2, datum.i / 2)")
        .transform_calculate(t=steps[way], way=repr(way))
        .transform_calculate(user="1 / datum.t", gpu="datum.b / datum.t")
        .mark_line(clip=True)
        .encode(order="i:Q", **by_ink("way", WAYS))
        for way in WAYS
    ]
    points = (
        alt.Chart(alt.Data(values=[{"way": way} for way in WAYS]))
        .transform_calculate(
            user="datum.way == 'two halves' ? hidden_user : turn_user",
            gpu="datum.way == 'two halves' ? hidden_gpu : turn_gpu",
        )
        .mark_point(size=160, opacity=1, clip=True)
        .encode(color=by_ink("way", WAYS)["color"])
    )
    return alt.layer(*layers, points).encode(x=x, y=y)


def waterfall() -> Any:
    """For each block a bar for reading and one for computing, from where it starts."""
    import altair as alt

    starts = {
        "attention": "0",
        "experts": "mla_s",
        "wire": "mla_s + experts_s",
        "the rest": "mla_s + experts_s + wire_s",
    }
    bars = (
        ("attention", "read", "mla_read_s"),
        ("attention", "compute", "mla_compute_s"),
        ("experts", "read", "expert_read_s"),
        ("experts", "compute", "expert_compute_s"),
        ("wire", "send", "wire_s"),
        ("the rest", "rest", "rest_s"),
    )
    layers = [
        alt.Chart(alt.Data(values=[{"lane": f"{block}: {kind}", "kind": kind}]))
        .transform_calculate(
            start=f"1e3 * ({starts[block]})",
            end=f"1e3 * ({starts[block]} + {length})",
        )
        .mark_bar(height=20)
        for block, kind, length in bars
    ]
    return alt.layer(*layers, height=230).encode(
        x=alt.X("start", type="quantitative", title="time (ms)"),
        x2="end",
        y=alt.Y("lane", type="nominal", sort=None, title=None),
        color=by_ink("kind", KINDS)["color"],
    )


def memory() -> Any:
    """One line a setup: requests that fit while the context grows; the chosen point."""
    import altair as alt

    x = alt.X("context", **log_axis("context (tokens per request)", *CONTEXTS))
    y = alt.Y("value", **log_axis("requests that fit on a GPU", 0.3, 6000))
    lines = [
        Curve(
            place.name,
            BATCH_FITS.browser(
                {
                    "context": "datum.context",
                    "weight_bytes": f"{_held(index)}[model]",
                    "hbm_bytes": repr(twin(place).room_bytes()),
                }
            ),
            ink,
            label_at=(0.35, 0.62, 0.45, 1.0)[index],
            dash=ink.dash,
            rising=index == 2,
        )
        for index, (place, ink) in enumerate(zip(SETUPS.values(), SERIES, strict=False))
    ]
    point = (
        alt.Chart(alt.Data(values=[{}]))
        .transform_calculate(x="context", y="fits")
        .mark_point(size=160, opacity=1, color=GREY.css, clip=True)
        .encode(x="x:Q", y="y:Q")
    )
    return alt.layer(curves(x, y, CONTEXTS, *lines), point)


def _held(index: int) -> str:
    """Weights of each model at one place, as the browser's list."""
    held = (twin(PLACES[index], each).resident_bytes() for each in range(len(SHAPES)))
    return f"[{', '.join(map(repr, held))}]"
