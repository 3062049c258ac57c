"""What the live figure draws: requests that run and wait, against their rate."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import Landmark, landmarks
from llmserve_lab.page.palette import series
from llmserve_lab.symptoms import formulas as f

INKS = series("running", "waiting")
LEAST_PER_S, MOST_PER_S, MOST_REQUESTS = 0.1, 8.0, 100.0
RATE = QuantityAxis(
    q.arrival_rate,
    words="requests that arrive per second",
    domain=(LEAST_PER_S, MOST_PER_S),
)
REQUESTS = QuantityAxis(
    q.running_mean, words="requests, mean over time", domain=(0.0, MOST_REQUESTS)
)


def little() -> Any:
    """Two lines through the origin: time per request is their slope."""
    from llmserve_lab.extras import altair as alt

    known = {"system_s": "system_s", "queue_s": "queue_s"}
    lines = (
        Drawn(
            "running",
            f.RUNNING_MEAN,
            INKS["running"],
            known,
            label_at=0.94,
            rising=True,
        ),
        Drawn(
            "waiting",
            f.WAITING_MEAN,
            INKS["waiting"],
            {"queue_s": "queue_s"},
            label_at=0.94,
            rising=True,
        ),
    )
    return alt.layer(
        *landmarks(RATE, "x", "arrival_rate", Landmark("rate", q.arrival_rate)),
        bound_curves(RATE, REQUESTS, *lines),
        height=210,
    )
