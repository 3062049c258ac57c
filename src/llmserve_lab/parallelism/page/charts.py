"""What the live figure draws: a pipeline by its batches in flight."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.palette import GREY, INK, MEANINGS
from llmserve_lab.parallelism import formulas as f

IN_FLIGHT = (1, 2, 3, 4, 6, 8, 12, 16)
RATE = QuantityAxis(q.pipe_rate, words="tokens per second")
BATCHES = QuantityAxis(q.n_batches, words="batches in flight", ticks={"labelAngle": 0})


def pipe_rate() -> Any:
    """A bar for each number of batches in flight; outlines where memory is full."""
    from llmserve_lab.extras import altair as alt

    at = {"n_batches": "datum.n_batches"}
    bars = alt.Chart()
    across = BATCHES.on("x", "n_batches", "ordinal")
    span = {"x": across, "y": RATE.on("y", "bottom"), "y2": "rate"}
    drawn = bars.mark_bar(width={"band": 0.7}, color=MEANINGS["compute"].css).encode(
        **span, fillOpacity=alt.FillOpacity("room:Q", scale=None, legend=None)
    )
    outline: dict[str, Any] = {"filled": False, "strokeWidth": 1.5}
    full = bars.transform_filter("datum.room < 1").mark_bar(
        width={"band": 0.7}, stroke=GREY.css, strokeDash=[4, 3], **outline
    )
    at_slider = bars.transform_filter("datum.n_batches == n_batches")
    chosen = at_slider.mark_bar(width={"band": 0.8}, stroke=INK.css, **outline)
    words = bars.transform_calculate(
        said="datum.room < 1 ? (width < 400 ? 'full' : 'no room') : "
        "format(datum.rate, ',.0f')"
    ).mark_text(
        dy=-8,
        fontWeight="bold",
        color=INK.css,
        fontSize=alt.ExprRef("width < 400 ? 8.5 : 11"),
    )
    layers = alt.layer(
        drawn,
        full.encode(**span),
        chosen.encode(**span),
        words.encode(x=across, y=RATE.on("y", "rate"), text="said:N"),
        data=alt.Data(values=[{"n_batches": m} for m in IN_FLIGHT]),
        height=220,
    )
    return layers.transform_calculate(  # once, whatever the number of layers
        rate=RATE.draws(f.PIPE_RATE, **at),
        room=f"({f.STAGE_BYTES.browser(at)}) < hbm_bytes ? 1 : 0",
        bottom="0",
    )
