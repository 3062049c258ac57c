"""What the live figures draw: speedup against the batch, tokens against the drafts."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.catalog import Given
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.live.bound import BoundMark, Landmark, Marks, landmarks
from llmserve_lab.page.palette import GREY, INK, SERIES
from llmserve_lab.running_example import cost, setting
from llmserve_lab.speculative import formulas as f
from llmserve_lab.speculative.machine import CONTEXT, MOST, published

LARGEST = 256  # requests; more do not fit beside a draft model
BATCHES = {"values": [2.0**power for power in range(9)], "labelExpr": "datum.label"}
BATCH = QuantityAxis(
    q.batch,
    words="requests in one batch (log)",
    domain=(1, LARGEST),
    log=True,
    ticks=BATCHES,
)
GAIN = QuantityAxis(
    q.speculative_speedup,
    words="speedup",
    domain=(0, 2.8),
)
DRAFTS = QuantityAxis(
    q.n_draft,
    words="drafts of a request",
    domain=(1, MOST),
    ticks={"tickCount": MOST, "format": "d"},
)
TOKENS = QuantityAxis(q.accepted, words="tokens of a pass", domain=(1, 7))
LAWS = Marks(
    BoundMark("constant acceptance", f.ACCEPTED, SERIES[1]),
    BoundMark("falling acceptance", f.ACCEPTED_FALLING, SERIES[0]),
)
ENDS = (-14, 22)  # pixels from the lines to their names


def served() -> dict[str, Given]:
    """The book's machine, its model and the cache of a request half-way."""
    return {
        **setting(),
        "overlap": cost().overlap,
        "overhead_s": cost().overhead_s,
        "request_s": cost().request_s,
        "context": float(CONTEXT),
    }


def gain() -> Any:
    """Speedup against the batch, for the drafts chosen and for a single one."""
    from llmserve_lab.extras import altair as alt

    fixed = {name: float(value) for name, value in served().items()}
    known: dict[str, Any] = {**fixed, "draft_cost": "draft_cost"}
    asked = frozenset({"accepted", "n_draft", "batch", *known})
    names = {leaf.name for leaf in f.SPEEDUP.leaves(keep=asked)}
    tied = {name: value for name, value in known.items() if name in names}
    one = "1 + accept_rate"
    chosen = Drawn(
        "with these drafts",
        f.SPEEDUP,
        SERIES[0],
        {**tied, "accepted": "accepted", "n_draft": "n_draft"},
        means="these drafts",
    )
    single = Drawn(
        "with one draft",
        f.SPEEDUP,
        SERIES[1],
        {**tied, "accepted": f"({one})", "n_draft": "1"},
        dash=(6, 4),
        label_at=0.42,
        rising=True,
        means="one draft",
    )
    even = alt.Chart(alt.Data(values=[{"speedup": 1, "none": 0}]))
    loss = even.mark_rect(color=GREY.css, opacity=0.14, x=0, x2="width").encode(
        y=GAIN.on("y", "speedup"), y2="none"
    )
    line = even.mark_rule(color=INK.css).encode(y=GAIN.on("y", "speedup"))
    text = even.mark_text(
        text="below: drafts lose", align="left", dx=4, dy=10, x=0, color=INK.css
    ).encode(y=GAIN.on("y", "speedup"))
    return alt.layer(
        loss,
        bound_curves(BATCH, GAIN, chosen, single),
        line,
        text,
        *landmarks(BATCH, "x", "batch", Landmark("your batch", q.batch)),
        height=250,
    )


def tokens() -> Any:
    """Tokens of a pass against the drafts: measured, and by the two laws."""
    from llmserve_lab.extras import altair as alt

    x, y = DRAFTS.on("x", "n_draft"), TOKENS.on("y", "value")
    rows = [
        {"which": number, "drafts": k, "tokens": tokens}
        for number, fit in enumerate(published())
        for k, tokens in enumerate(fit.curve.tokens, start=1)
    ]
    points = (
        alt.Chart(alt.Data(values=rows))
        .transform_filter("datum.which == curve")
        .transform_calculate(
            n_draft=DRAFTS.scaled("datum.drafts", q.n_draft),
            value=TOKENS.scaled("datum.tokens", q.accepted),
        )
        .mark_point(filled=True, size=90, opacity=1, color=INK.css)
        .encode(x=x, y=y)
    )
    lines = [
        _law(mark, at).encode(x=x, y=y) for mark, at in zip(LAWS, ENDS, strict=True)
    ]
    named = alt.Chart(alt.Data(values=[{}])).mark_text(
        text="● measured", x=8, y=12, align="left", color=INK.css, fontWeight="bold"
    )
    return alt.layer(*lines, points, named, height=250)


def _law(mark: BoundMark, below: int) -> Any:
    """A law at every number of drafts, its name beside the seventh."""
    from llmserve_lab.extras import altair as alt

    fitted = {"accept_rate": "accept_rate", "accept_fall": "accept_fall"}
    asked = {k: v for k, v in fitted.items() if k in mark.formula.known()}
    value = mark.draw(TOKENS, n_draft="datum.n_draft", **asked)
    ink, dash = mark.ink.css, list(mark.ink.dash or (1, 0))
    named: dict[str, Any] = {
        "text": mark.name,
        "align": "right",
        "dy": below,
        "fontWeight": "bold",
    }
    each = alt.LayerChart(
        data=alt.sequence(1, MOST + 1, as_="n_draft"),
        layer=[
            alt.Chart().mark_line(color=ink, strokeDash=dash, clip=True),
            alt.Chart()
            .transform_filter(f"datum.n_draft == {MOST - 1}")
            .mark_text(color=ink, **named),
        ],
    )
    return each.transform_calculate(value=value)
