"""What the live figure draws: requests that fit, against the context of each."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import Landmark, landmarks
from llmserve_lab.page.palette import GREY, MEANINGS

SHORTEST, LONGEST = 1024.0, 131_072.0
CONTEXT = QuantityAxis(
    q.mean_held,
    words="tokens in cache, log",
    domain=(SHORTEST, LONGEST),
    log=True,
    ticks={"values": [2000, 5000, 10_000, 20_000, 50_000, 100_000]},
)
REQUESTS = QuantityAxis(
    q.batch_fits, words="requests that fit, log", domain=(0.1, 10_000), log=True
)


def capacity() -> Any:
    """The falling line of requests, grey where none fits or the model cannot read."""
    from llmserve_lab.extras import altair as alt

    line = Drawn(
        "requests that fit", f.REQUESTS_FIT, MEANINGS["cache"], _known(), label_at=0.75
    )
    return alt.layer(
        *_grey(),
        *landmarks(CONTEXT, "x", "mean_held", Landmark("tokens in cache", q.mean_held)),
        bound_curves(CONTEXT, REQUESTS, line),
        height=270,
    )


def _known() -> dict[str, str]:
    """Arguments of the line that the choices set."""
    names = (
        "cache_bytes", "full_token_bytes", "window_token_bytes", "window", "state_bytes"
    )  # fmt: skip
    return {name: name for name in names}


def _grey() -> list[Any]:
    """Below one request nothing runs; beyond its longest context no model reads."""
    from llmserve_lab.extras import altair as alt

    one = alt.Chart(alt.Data(values=[{}]))
    look: dict[str, Any] = {"color": GREY.css, "opacity": 0.22, "clip": True}
    words: dict[str, Any] = {"color": GREY.css, "fontSize": 12}
    return [
        one.mark_rect(
            **look,
            y={"expr": "height * 4 / 5"},
            y2={"expr": "height"},
            x={"expr": "0"},
            x2={"expr": "width"},
        ),
        one.mark_text(
            text="not even one request fits",
            align="left",
            x={"expr": "8"},
            y={"expr": "height - 12"},
            **words,
        ),
        one.mark_rect(
            **look,
            y={"expr": "0"},
            y2={"expr": "height"},
            x={"expr": f"width * {_along('most_context')}"},
            x2={"expr": "width"},
        ),
        one.mark_text(
            text="beyond the model",
            align="right",
            x={"expr": "width - 6"},
            y={"expr": "14"},
            opacity={"expr": f"most_context < {LONGEST} ? 1 : 0"},
            **words,
        ),
    ]


def _along(signal: str) -> str:
    """Place of a context on the axis, from 0 to 1."""
    inside = f"min({signal}, {LONGEST})"
    return f"(log({inside} / {SHORTEST}) / log({LONGEST} / {SHORTEST}))"
