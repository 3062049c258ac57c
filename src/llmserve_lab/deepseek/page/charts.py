"""What the live figures draw: Altair charts whose every number is a formula's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.formula.formula import Formula
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import BoundMark, Case, Cases, Marks
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import MEANINGS, SERIES

KINDS = {
    "read": MEANINGS["weights"],
    "compute": MEANINGS["compute"],
    "communication": MEANINGS["communication"],
    "the rest": MEANINGS["other"],
}


def _bar(lane: str, part: Formula, kind: str) -> tuple[BoundMark, str]:
    return BoundMark(lane, part, KINDS[kind]), kind


# Blocks in the order of a step: the result that says how long each lasts, its bars.
BLOCKS = (
    (
        q.mla_s,
        _bar("projections: read", f.ATTN_GEMM_READ_S, "read"),
        _bar("projections: compute", f.ATTN_GEMM_COMPUTE_S, "compute"),
        _bar("attention kernel", f.ATTN_KERNEL_S, "compute"),
    ),
    (
        q.attn_elementwise_s,
        _bar("attention, elementwise", f.ATTN_ELEMENTWISE_S, "read"),
    ),
    (
        q.experts_s,
        _bar("experts: read", f.EXPERT_READ_S, "read"),
        _bar("experts: compute", f.EXPERT_COMPUTE_S, "compute"),
    ),
    (
        q.moe_elementwise_s,
        _bar("experts, elementwise", f.MOE_ELEMENTWISE_S, "read"),
    ),
    (q.all_to_all_s, _bar("all-to-alls", f.ALL_TO_ALL_S, "communication")),
    (q.other_s, _bar("other layers, and the host", f.OTHER_S, "the rest")),
)
BARS = Marks(*(mark for _, *bars in BLOCKS for mark, _ in bars))
PARTS = tuple(bar.formula for bar in BARS)
ATTENTION, EXPERTS = (
    tuple(mark.quantity.name for mark, _ in bars)
    for block, *bars in BLOCKS
    if len(bars) > 1
)
WHOLE = tuple(block.name for block, *bars in BLOCKS if len(bars) == 1)
WAYS = Cases(
    "way",
    Case("two halves", "halves", SERIES[1], f.HALVES_S),
    Case("one after another", "turn", SERIES[0], f.TURN_S),
)
USER = QuantityAxis(
    q.user_tokens_per_s, words="what a user sees", domain=(1, 100), log=True
)
GPU = QuantityAxis(
    q.gpu_tokens_per_s, words="what a GPU makes", domain=(10, 30_000), log=True
)
TIME = QuantityAxis(q.turn_s, "ms", words="time", ticks={"tickCount": 5})


def frontier(fixed: Mapping[str, float]) -> Any:
    """Both ways to run a step, as far as memory goes, and the reader's point."""
    from llmserve_lab.extras import altair as alt

    asked = {leaf.name for leaf in f.TURN_S.leaves(keep=frozenset({"local_experts"}))}
    names = {name: repr(value) for name, value in fixed.items() if name in asked}
    extra = {n: repr(fixed[n]) for n in ("dispatch_share", "overlap_slowdown")}
    names |= {"chunk": "1"} | {n: n for n in ("local_experts", "far_share")}
    batches = {
        f.HALVES_S: extra | {"batch": "(datum.b / 2)"},
        f.TURN_S: {"batch": "datum.b"},
    }
    held = f.HELD_BYTES.browser(
        {"resident_bytes": "resident_bytes", "gpu_requests": "datum.b"}
    )
    layers = [
        alt.Chart(alt.sequence(0, 23, as_="i"))
        .transform_calculate(b="pow(2, datum.i / 2)")
        .transform_filter(f"{held} <= hbm_bytes")
        .transform_calculate(
            t=way.of.browser(names | batches[way.of]), way=repr(way.name)
        )
        .transform_calculate(user="1 / datum.t", gpu="datum.b / datum.t")
        .mark_line(clip=True)
        .encode(order="i:Q", **by_ink("way", WAYS.inks))
        for way in WAYS.cases
        if way.of
    ]
    points = (
        alt.Chart(alt.Data(values=WAYS.rows()))
        .transform_calculate(
            user=WAYS.reads(USER, q.user_tokens_per_s),
            gpu=WAYS.reads(GPU, q.gpu_tokens_per_s),
        )
        .mark_point(size=160, opacity=alt.expr("room ? 1 : 0"), clip=True)
        .encode(color=WAYS.color())
    )
    drawn = alt.layer(*layers, points)
    return drawn.encode(x=USER.on("x", "user"), y=GPU.on("y", "gpu"))


def bars() -> list[dict[str, str]]:
    """Each bar of a step: its lane, its kind, where it starts and how long it is."""
    found, start = [], "0"
    for block, *inside in BLOCKS:
        for mark, kind in inside:
            late = mark.source is f.ATTN_KERNEL_S  # after the projections
            length = mark.read(TIME)
            found.append(
                {
                    "lane": mark.name,
                    "kind": kind,
                    "start": f"{start} + {TIME.reads(block)} - {length}"
                    if late
                    else start,
                    "length": length,
                }
            )
        start = f"{start} + {TIME.reads(block)}"
    host = {"start": start, "length": f"{TIME.reads(q.turn_s)} - ({start})"}
    return [*found, found[-1] | host]


def waterfall() -> Any:
    """For each block a bar for reading and one for computing, from where it starts."""
    from llmserve_lab.extras import altair as alt

    drawn = bars()
    rows = [
        {"i": i, "lane": bar["lane"], "kind": bar["kind"]}
        for i, bar in enumerate(drawn)
    ]
    start, length = (
        f"[{', '.join(bar[which] for bar in drawn)}][datum.i]"
        for which in ("start", "length")
    )
    return (
        alt.Chart(alt.Data(values=rows), height=205)
        .transform_calculate(start=start)
        .transform_calculate(end=f"datum.start + {length}")
        .mark_bar(height=20)
        .encode(
            x=TIME.on("x", "start"),
            x2="end",
            y=alt.Y("lane", type="nominal", sort=None, title=None),
            color=by_ink("kind", KINDS)["color"],
        )
    )
