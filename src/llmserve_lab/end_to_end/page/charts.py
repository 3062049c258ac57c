"""What the live figure draws: two curves, and where the reader's answer stands."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.page.live.axes import Drawn, QuantityAxis, bound_curves
from llmserve_lab.page.palette import INK, MEANINGS

TOKENS = QuantityAxis(
    q.new_tokens,
    words="answer to generate",
    domain=(1.0, 1000.0),
    ticks={"tickCount": 5},
)
FLOPS = QuantityAxis(
    q.recompute_flops,
    words="FLOP of the answer, log scale",
    domain=(1e12, 5e17),
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
    return alt.layer(bound_curves(TOKENS, FLOPS, *lines), _factor(), height=150)


def _factor() -> Any:
    """From one curve to the other, at the reader's answer: the factor between them."""
    from llmserve_lab.extras import altair as alt

    ratio = q.flops_ratio.name
    said = f"format({ratio}, '.3~r') + ' times fewer'"
    row = alt.Chart(alt.Data(values=[{}])).transform_calculate(
        new_tokens=TOKENS.reads(q.new_tokens),
        again=FLOPS.reads(q.recompute_flops),
        once=FLOPS.reads(q.cached_flops),
        middle="max(sqrt(datum.again * datum.once), 12 * datum.once)",
        factor=f"{ratio} < 1.01 ? 'no saving' : {said}",
    )
    rule = row.mark_rule(color=INK.css, strokeWidth=2)
    ends = [row.mark_tick(color=INK.css, thickness=2, size=12, orient="horizontal")] * 2
    side = alt.ExprRef(f"{q.new_tokens.name} > 600 ? 'right' : 'left'")
    away = alt.ExprRef(f"{q.new_tokens.name} > 600 ? -8 : 8")
    text = row.mark_text(color=INK.css, align=side, dx=away, fontWeight="bold")
    x = TOKENS.on("x", "new_tokens")
    again, once, middle = (FLOPS.on("y", at) for at in ("again", "once", "middle"))
    return alt.layer(
        rule.encode(x=x, y=again, y2="once"),
        *(end.encode(x=x, y=at) for end, at in zip(ends, (again, once), strict=True)),
        text.encode(x=x, y=middle, text="factor:N"),
    )
