"""What the live figures draw: Altair charts whose every number is a formula's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.page.live.marks import Curve, by_ink, curves, log_axis
from llmserve_lab.page.palette import BLUE, GREEN, GREY, VERMILLION
from llmserve_lab.roofline.formulas import BATCH_FITS

WHOLE = ("attn_elementwise_s", "moe_elementwise_s", "all_to_all_s", "other_s")
PARTS = (
    f.ATTN_GEMM_READ_S,
    f.ATTN_GEMM_COMPUTE_S,
    f.ATTN_KERNEL_S,
    f.ATTN_ELEMENTWISE_S,
    f.EXPERT_READ_S,
    f.EXPERT_COMPUTE_S,
    f.MOE_ELEMENTWISE_S,
    f.ALL_TO_ALL_S,
    f.OTHER_S,
)
ATTENTION = ("attn_gemm_read_s", "attn_gemm_compute_s", "attn_kernel_s")
EXPERTS = ("expert_read_s", "expert_compute_s")
WAYS = {"two halves": VERMILLION, "one after another": BLUE}
KINDS = {"read": GREEN, "compute": VERMILLION, "send": BLUE, "the rest": GREY}
MOE_FROM = "mla_s + attn_elementwise_s"
SENT_FROM = f"{MOE_FROM} + experts_s + moe_elementwise_s"
OTHER_FROM = f"{SENT_FROM} + all_to_all_s"
HOST = f"turn_s - ({OTHER_FROM} + other_s)"
# lane, kind, when its block starts, how long the bar is
BARS = (
    ("projections: read", "read", "0", "attn_gemm_read_s"),
    ("projections: compute", "compute", "0", "attn_gemm_compute_s"),
    ("attention kernel", "compute", "mla_s - attn_kernel_s", "attn_kernel_s"),
    ("attention, elementwise", "read", "mla_s", "attn_elementwise_s"),
    ("experts: read", "read", MOE_FROM, "expert_read_s"),
    ("experts: compute", "compute", MOE_FROM, "expert_compute_s"),
    ("experts, elementwise", "read", f"{MOE_FROM} + experts_s", "moe_elementwise_s"),
    ("all-to-alls", "send", SENT_FROM, "all_to_all_s"),
    ("the rest, and the host", "the rest", OTHER_FROM, "other_s"),
    ("the rest, and the host", "the rest", f"{OTHER_FROM} + other_s", HOST),
)
CONTEXTS = (1024.0, 262_144.0)


def frontier(fixed: Mapping[str, float]) -> Any:
    """Both ways to run a step, as far as memory goes, and the reader's point."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("user", **log_axis("tokens/s that a user sees", 1, 100))
    y = alt.Y("gpu", **log_axis("tokens/s of a GPU", 10, 30_000))
    asked = {leaf.name for leaf in f.TURN_S.leaves(keep=frozenset({"local_experts"}))}
    names = {name: repr(value) for name, value in fixed.items() if name in asked}
    extra = {n: repr(fixed[n]) for n in ("dispatch_share", "overlap_slowdown")}
    names |= {"chunk": "1"} | {n: n for n in ("local_experts", "far_share")}
    steps = {
        "two halves": f.HALVES_S.browser(names | extra | {"batch": "(datum.b / 2)"}),
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
            user="datum.way == 'two halves' ? halves_user : turn_user",
            gpu="datum.way == 'two halves' ? halves_gpu : turn_gpu",
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
        alt.Chart(alt.Data(values=rows), height=250)
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
