"""What the other live figures draw: a curve, a matrix, and bars for layouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from llmserve_lab import notation as q
from llmserve_lab.formula.formula import Formula
from llmserve_lab.moe import formulas as f
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves, words_of
from llmserve_lab.page.live.bound import Landmark, landmarks
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.live.wording import told_apart
from llmserve_lab.page.palette import GREY, SERIES, series

RANKS = 8
MOST = 1.1  # of the bytes of TP alone: no layout on offer sends more than 1
ROWS = QuantityAxis(q.n_rows, words="tokens in the batch", domain=(1, 4096), log=True)
TOUCHED = QuantityAxis(q.touched_experts, words="experts read", domain=(0, 560))
SENT = QuantityAxis(
    q.composed_bytes,
    words="bytes leaving a rank, TP = 100%",
    of=q.tp_block_bytes,
    domain=(0, MOST),
    ticks={"tickCount": 5},
)
HALVES = series("attention", "experts")


class Layout(NamedTuple):
    """A way to lay a block out: what leaves a rank in its halves, by signals."""

    name: str
    attention: tuple[Formula, str] | None
    experts: tuple[Formula, str]


SLICED = (f.FFN_TP_BYTES, "ffn_tp_bytes")
PER_EXPERT = (f.EP_BYTES, "expert_copy_ep_bytes")
PER_RANK = (f.EP_BYTES, "rank_copy_ep_bytes")
LAYOUTS = (
    Layout("TP", SLICED, SLICED),
    Layout("EP, a copy an expert", None, PER_EXPERT),
    Layout("EP, a copy a rank", None, PER_RANK),
    Layout("TP × EP × SP", (f.SP_BYTES, "sp_bytes"), PER_RANK),
)


def touched() -> Any:
    """Distinct experts against rows, and what they would be if no two rows met."""
    from llmserve_lab.extras import altair as alt

    return alt.layer(
        *landmarks(TOUCHED, "y", "value", Landmark("all experts", q.n_experts, down=4)),
        *landmarks(ROWS, "x", "n_rows", Landmark("your tokens", q.n_rows, down=22)),
        bound_curves(
            ROWS,
            TOUCHED,
            Drawn("experts read", f.TOUCHED_EXPERTS, SERIES[0], label_at=0.97),
            Drawn(
                "if all differ",
                f.TOUCHED_EXPERTS,
                GREY,
                label_at=0.62,
                dash=(4, 4),
                rising=True,
                expr="top_k * datum.n_rows",
                means="choices of rows that all differ",
                over=(1, 70),
            ),
        ),
        height=205,
    )


def layouts() -> Any:
    """For every layout what leaves a rank around attention, then around experts."""
    from llmserve_lab.extras import altair as alt

    told_apart([(each.name, _words(each)) for each in LAYOUTS])
    parts = [part for each in LAYOUTS for part in _parts(each)]
    rows = [
        {"i": i, "layout": layout, "half": half}
        for i, (layout, half, *_) in enumerate(parts)
    ]
    start, length = (
        f"[{', '.join(part[column] for part in parts)}][datum.i]" for column in (2, 3)
    )
    return (
        alt.Chart(alt.Data(values=rows), height=200)
        .transform_calculate(start=start)
        .transform_calculate(end=f"datum.start + {length}")
        .mark_bar(height=26, clip=True)
        .encode(
            x=SENT.on("x", "start"),
            x2="end",
            y=alt.Y("layout", type="nominal", sort=None, title=None),
            color=by_ink("half", HALVES)["color"],
        )
    )


def _words(layout: Layout) -> frozenset[str]:
    """The words of all that leaves a rank in this layout."""
    halves = (half for half in (layout.attention, layout.experts) if half)
    return frozenset().union(*(words_of(*half) for half in halves))


def _parts(layout: Layout) -> Iterator[tuple[str, str, str, str]]:
    """The bars of a layout: half of the block, where it starts, and how long it is."""
    start = "0"
    for name in HALVES:
        half = getattr(layout, name)
        length = SENT.reads(half[0].result, half[1]) if half else "0"
        yield layout.name, name, start, length
        start = length
