"""What the live figure draws: two curves, and where the reader's answer stands."""

from __future__ import annotations

from typing import Any

from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.page.live.marks import Curve, curves, landmark, log_axis
from llmserve_lab.page.palette import BLUE, VERMILLION

ANSWERS = (1.0, 65_536.0)
FLOPS = (1e9, 3e22)


def again_or_once() -> Any:
    """FLOPs of the whole answer against its length."""
    from llmserve_lab.extras import altair as alt

    x = alt.X("answer", **log_axis("tokens of the answer", *ANSWERS))
    y = alt.Y("flops", **log_axis("FLOPs of the answer", *FLOPS))
    here = {"new_tokens": "datum.answer"}
    lines = (
        Curve(
            "all again",
            f.RECOMPUTE_FLOPS.browser(here),
            VERMILLION,
            label_at=0.8,
            rising=True,
        ),
        Curve(
            "with a cache",
            f.CACHED_FLOPS.browser(here),
            BLUE,
            label_at=0.5,
            dash=BLUE.dash or (6, 3),
        ),
    )
    mark = landmark(x, "new_tokens", "this answer")
    return alt.layer(mark, curves(x, y, ANSWERS, *lines))
