"""What the live figure draws: two curves, and where the reader's answer stands."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import Landmark, landmarks
from llmserve_lab.page.palette import MEANINGS

TOKENS = QuantityAxis(
    q.new_tokens,
    words="answer to generate",
    domain=(1.0, 1000.0),
    ticks={"tickCount": 5},
)
FLOPS = QuantityAxis(
    q.recompute_flops,
    words="FLOP of the answer, log scale",
    domain=(1e12, 1e19),
    log=True,
)


def again_or_once() -> Any:
    """FLOPs of the whole answer against its length."""
    from llmserve_lab.extras import altair as alt

    cache = MEANINGS["cache"]
    lines = (
        Drawn(
            "recomputed each time",
            f.RECOMPUTE_FLOPS,
            MEANINGS["new"],
            label_at=0.97,
            rising=True,
        ),
        Drawn("with a cache", f.CACHED_FLOPS, cache, rising=True, dash=cache.dash),
    )
    here = landmarks(
        TOKENS, "x", "new_tokens", Landmark("generated here", q.new_tokens)
    )
    return alt.layer(*here, bound_curves(TOKENS, FLOPS, *lines), height=240)
