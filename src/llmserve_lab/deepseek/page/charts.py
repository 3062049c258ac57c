"""What the live figures draw: Altair charts whose every number is a formula's."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.page.controls import sizes
from llmserve_lab.formula.formula import Formula
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import BoundMark, Marks
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import GREY, MEANINGS

KINDS = {
    "read": MEANINGS["weights"],
    "compute": MEANINGS["compute"],
    "communication": MEANINGS["communication"],
    "starts and the rest": MEANINGS["other"],
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
    (q.other_s, _bar("other layers, and the host", f.OTHER_S, "starts and the rest")),
)
BARS = Marks(*(mark for _, *bars in BLOCKS for mark, _ in bars))
PARTS = tuple(bar.formula for bar in BARS)
ATTENTION, EXPERTS = (
    tuple(mark.quantity.name for mark, _ in bars)
    for block, *bars in BLOCKS
    if len(bars) > 1
)
WHOLE = tuple(block.name for block, *bars in BLOCKS if len(bars) == 1)
# Elementwise blocks, and how many kernels each launches.
STARTED = {
    q.attn_elementwise_s: "attn_launches",
    q.moe_elementwise_s: "moe_launches",
}
TIME = QuantityAxis(q.turn_s, "ms", words="time", ticks={"tickCount": 3})


def bars() -> list[dict[str, str]]:
    """Each bar of a step: its lane, its kind, where it starts and how long it is.

    ``both`` is what reading and computing take together, where both are drawn.
    """
    found, start = [], "0"
    kernel = next(m for m in BARS if m.source is f.ATTN_KERNEL_S).read(TIME)
    for block, *inside in BLOCKS:
        both = TIME.reads(block) if len(inside) > 1 else "0"
        if block is q.mla_s:
            both = f"{both} - {kernel}"
        for mark, kind in inside:
            if block in STARTED:
                found += _started(mark, start, STARTED[block])
                continue
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
                    "both": "0" if late else both,
                }
            )
        start = f"{start} + {TIME.reads(block)}"
    host = {"start": start, "length": f"{TIME.reads(q.turn_s)} - ({start})"}
    return [*found, found[-1] | host]


def _started(mark: BoundMark, start: str, launches: str) -> list[dict[str, str]]:
    """Two bars in one lane: what is moved, then the launches of the kernels."""
    starts = TIME.scaled(f"{float(sizes()[launches]):.12g} * launch_s", q.launch_s)
    moved = f"{mark.read(TIME)} - {starts}"
    same = {"lane": mark.name, "both": "0"}
    later = f"{start} + {moved}"
    return [
        same | {"kind": "read", "start": start, "length": moved},
        same | {"kind": "starts and the rest", "start": later, "length": starts},
    ]


def waterfall() -> Any:
    """For each block a bar for reading and one for computing, from where it starts."""
    from llmserve_lab.extras import altair as alt

    drawn = bars()
    rows = [
        {"i": i, "lane": bar["lane"], "kind": bar["kind"]}
        for i, bar in enumerate(drawn)
    ]
    start, length, both = (
        f"[{', '.join(bar[which] for bar in drawn)}][datum.i]"
        for which in ("start", "length", "both")
    )
    base = (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(start=start)
        .transform_calculate(
            end=f"datum.start + {length}", both=f"datum.start + {both}"
        )
    )
    x = TIME.on("x", "start")
    y = alt.Y("lane", type="nominal", sort=None, title=None)
    filled = base.mark_bar(height=20).encode(
        x=x,
        x2="end",
        y=y,
        color=by_ink("kind", KINDS)["color"].legend(
            columns=alt.ExprRef("width < 420 ? 1 : 4")
        ),
    )
    frames = (
        base.transform_filter("datum.both > datum.start")
        .mark_bar(height=20, filled=False, stroke=GREY.light, strokeWidth=1.5)
        .encode(x=x, x2="both", y=y)
    )
    return alt.layer(filled, frames, height=195)
