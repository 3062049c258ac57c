"""What the live figures draw: Altair charts whose every number is a formula's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.page.live.marks import Curve, by_ink, curves, log_axis
from llmserve_lab.page.palette import BLUE, GREEN, GREY, VERMILLION
from llmserve_lab.roofline.formulas import BATCH_FITS

WHOLE = ("pass_s", "wire_s", "rest_s")
PARTS = (
    f.MLA_READ_S,
    f.MLA_COMPUTE_S,
    f.EXPERT_READ_S,
    f.EXPERT_COMPUTE_S,
    f.PASS_S,
    f.WIRE_S,
    f.REST_S,
)
WAYS = {"two halves": VERMILLION, "one after another": BLUE}
KINDS = {"read": GREEN, "compute": VERMILLION, "send": BLUE, "the rest": GREY}
# lane, kind, when its block starts, how long the bar is
BARS = (
    ("attention: read", "read", "0", "mla_read_s"),
    ("attention: compute", "compute", "0", "mla_compute_s"),
    ("experts: read", "read", "mla_s", "expert_read_s"),
    ("experts: compute", "compute", "mla_s", "expert_compute_s"),
    ("between products", "read", "mla_s + experts_s", "pass_s"),
    ("wire", "send", "mla_s + experts_s + pass_s", "wire_s"),
    ("the rest", "the rest", "turn_s - rest_s", "rest_s"),
)
CONTEXTS = (1024.0, 262_144.0)


def frontier(fixed: Mapping[str, float]) -> Any:
    """Both ways to run a step, as far as memory goes, and the reader's point."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("user", **log_axis("tokens/s that a user sees", 1, 300))
    y = alt.Y("gpu", **log_axis("tokens/s of a GPU", 10, 30_000))
    asked = {leaf.name for leaf in f.TURN_S.leaves(keep=frozenset({"local_experts"}))}
    names = {name: repr(value) for name, value in fixed.items() if name in asked}
    names |= {"chunk": "1"} | {n: n for n in ("local_experts", "far_share")}
    steps = {
        "two halves": f.HIDDEN_S.browser(
            names | {"batch": "(datum.b / 2)", "n_batches": "2"}
        ),
        "one after another": f.TURN_S.browser(names | {"batch": "datum.b"}),
    }
    held = f.HELD_BYTES.browser(
        {"resident_bytes": "resident_bytes", "gpu_requests": "datum.b"}
    )
    layers = [
        alt.Chart(alt.sequence(0, 23, as_="i"))
        .transform_calculate(b="pow(2, datum.i / 2)")
        .transform_filter(f"{held} <= hbm_bytes")
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
        .mark_point(size=160, opacity=alt.expr("room ? 1 : 0.3"), clip=True)
        .encode(color=by_ink("way", WAYS)["color"])
    )
    return alt.layer(*layers, points).encode(x=x, y=y)


def waterfall() -> Any:
    """For each block a bar for reading and one for computing, from where it starts."""
    from llmserve_lab.extras import altair as alt

    lanes, kinds, starts, lengths = zip(*BARS, strict=True)
    rows = [{"i": i, "lane": lanes[i], "kind": kinds[i]} for i in range(len(BARS))]
    start, length = (f"[{', '.join(each)}][datum.i]" for each in (starts, lengths))
    return (
        alt.Chart(alt.Data(values=rows), height=230)
        .transform_calculate(start=f"1e3 * {start}")
        .transform_calculate(end=f"datum.start + 1e3 * {length}")
        .mark_bar(height=20)
        .encode(
            x=alt.X(
                "start",
                type="quantitative",
                title="time (ms)",
                axis=alt.Axis(tickCount=5),
            ),
            x2="end",
            y=alt.Y("lane", type="nominal", sort=None, title=None),
            color=by_ink("kind", KINDS, legend=False)["color"],
        )
    )


def memory() -> Any:
    """Requests that fit while the context grows, and the chosen point."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("context", **log_axis("context (tokens per request)", *CONTEXTS))
    y = alt.Y("value", **log_axis("requests that fit on a GPU", 0.3, 6000))
    fits = BATCH_FITS.browser(
        {"context": "datum.context", "weight_bytes": "resident_bytes"}
    )
    line = Curve("as many as fit", fits, BLUE, label_at=0.5)
    point = (
        alt.Chart(alt.Data(values=[{}]))
        .transform_calculate(x="context", y="fits")
        .mark_point(size=160, opacity=1, color=BLUE.css, clip=True)
        .encode(x="x:Q", y="y:Q")
    )
    return alt.layer(curves(x, y, CONTEXTS, line), point)
