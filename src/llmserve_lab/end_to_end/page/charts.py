"""What the live figure draws: two curves, and where the reader's answer stands."""

from __future__ import annotations

from typing import Any

from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.page.live.marks import Curve, curves, landmark
from llmserve_lab.page.palette import BLUE, VERMILLION

ANSWERS = (1.0, 1000.0)


def again_or_once() -> Any:
    """FLOPs of the whole answer against its length."""
    from llmserve_lab.extras import altair as alt

    x = alt.X(
        "answer",
        type="quantitative",
        title="tokens of the answer",
        scale=alt.Scale(domain=[0, ANSWERS[1]], nice=False),
        axis=alt.Axis(tickCount=5),
    )
    y = alt.Y(
        "flops",
        type="quantitative",
        title="FLOPs of the answer",
        axis=alt.Axis(format="~s", tickCount=5),
    )
    here = {"new_tokens": "datum.answer"}
    lines = (
        Curve(
            "everything again",
            f.RECOMPUTE_FLOPS.browser(here),
            VERMILLION,
            label_at=0.97,
            rising=True,
        ),
        Curve(
            "with a cache",
            f.CACHED_FLOPS.browser(here),
            BLUE,
            label_at=1.0,
            dash=BLUE.dash or (6, 3),
            rising=True,
        ),
    )
    mark = landmark(x, "new_tokens", "this answer")
    return alt.layer(mark, curves(x, y, ANSWERS, *lines), height=220)
