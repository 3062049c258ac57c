"""The chart of a batch: the experts that it reads, against its tokens."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.moe import formulas as f
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import Landmark, landmarks
from llmserve_lab.page.palette import GREY, SERIES

ROWS = QuantityAxis(q.n_rows, words="tokens in the batch", domain=(1, 4096), log=True)
# Room for "1,200" from the beginning: the title stays where it is.
TOUCHED = QuantityAxis(q.touched_experts, words="experts read", ticks={"minExtent": 40})


def touched() -> Any:
    """Distinct experts against rows, and what they would be if no two rows met."""
    from llmserve_lab.extras import altair as alt

    return alt.layer(
        *landmarks(
            TOUCHED, "y", "value", Landmark("all experts", q.n_experts, down=14)
        ),
        *landmarks(ROWS, "x", "n_rows", Landmark("your tokens", q.n_rows, down=22)),
        bound_curves(
            ROWS,
            TOUCHED,
            Drawn("experts read", f.TOUCHED_EXPERTS, SERIES[0], label_at=0.97),
            Drawn(
                "if all differ",
                f.TOUCHED_EXPERTS,
                GREY,
                label_at=0.9,
                dash=(4, 4),
                rising=True,
                expr="top_k * datum.n_rows",
                means="choices of rows that all differ",
                over=(1, 70),
            ),
        ),
        height=150,
    )
