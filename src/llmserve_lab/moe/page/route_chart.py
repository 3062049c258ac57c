"""One row's way through a router of 256 experts on eight ranks, by four rules."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab import notation as q
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.moe.layer import MoeLayer, batch, layer_of
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.palette import GREY, SERIES
from llmserve_lab.transformer.ffn import GroupLimit
from llmserve_lab.transformer.rowwise import sigmoid, softmax

RANKS, N_EXPERTS, MOST, N_ROWS = 8, 256, 16, 4
PER_RANK = N_EXPERTS // RANKS
CHOSEN, SHARED = SERIES[0], SERIES[2]
GROUPS = GroupLimit(n_groups=RANKS, top_groups=4)
SPEC = MoeFfn(
    d_ff=1,
    n_experts=N_EXPERTS,
    n_shared=1,
    top_k=MOST,
    n_dense_layers=0,
    d_ff_dense=1,
)


@cache
def rules() -> dict[str, MoeLayer]:
    """A router by each rule: the same weights, scored and narrowed differently."""
    layer = layer_of(SPEC, scores="sigmoid")
    unbiased = layer.pulled(-layer.weights["router.bias"])
    return {
        "softmax": replace(unbiased, scores="softmax"),
        "sigmoid": unbiased,
        "sigmoid, with a bias": layer,
        "sigmoid, on four ranks at most": replace(unbiased, limit=GROUPS),
    }


@cache
def rows() -> tuple[dict[str, Any], ...]:
    """For every rule and row the experts in order of choice, with their scores."""
    found, seen = [], batch(N_ROWS)
    for rule, layer in enumerate(rules().values()):
        raw = seen @ layer.weights["router"]
        score = softmax(raw) if layer.scores == "softmax" else sigmoid(raw)
        chosen, _ = layer.route(seen)
        for row, experts in enumerate(chosen):
            found += [
                {
                    "u": rule,
                    "t": row,
                    "j": place,
                    "e": int(e),
                    "s": float(score[row, e]),
                }
                for place, e in enumerate(experts)
            ]
    return tuple({**each, "s": float(f"{each['s']:.3g}")} for each in found)


@cache
def ranks_met() -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Ranks that hold one of a row's first k experts: by rule, row, and k from 0 on."""
    homes = np.array([each["e"] // PER_RANK for each in rows()])
    by_row = homes.reshape(len(rules()), N_ROWS, MOST)
    return tuple(
        tuple(
            (1.0, *(float(len(set(experts[:k]))) for k in range(1, MOST + 1)))
            for experts in rule
        )
        for rule in by_row.tolist()
    )


def route() -> Any:
    """All experts, a line a rank; those chosen, the darker the more they weigh."""
    from llmserve_lab.extras import altair as alt

    ticks = {
        "values": list(range(PER_RANK + 1)),
        "labelExpr": "datum.value % 8 ? '' : format(datum.value, 'd')",
        "zindex": 1,
    }
    along = QuantityAxis(
        q.n_experts,
        words="experts of each rank",
        domain=(0, PER_RANK + 4),
        ticks=ticks,
    )
    x = along.on("x", "x")
    scale = alt.Scale(paddingInner=0.15)
    y = alt.Y("y:O", title="rank", axis=alt.Axis(grid=False), scale=scale)
    cells = (
        alt.Chart(alt.sequence(0, RANKS, as_="y"))
        .transform_calculate(x="0", x2=str(PER_RANK))
        .mark_rect(color=GREY.css, opacity=0.2)
    )
    chosen = (
        alt.Chart(alt.Data(values=list(rows())))
        .transform_filter("datum.u == rule && datum.t == row && datum.j < top_k")
        .transform_joinaggregate(all="sum(s)")
        .transform_calculate(
            **_place(), weight="0.45 + 0.55 * min(1, 2 * datum.s / datum.all)"
        )
        .mark_rect(color=CHOSEN.css)
        .encode(opacity=alt.Opacity("weight:Q", scale=None, legend=None))
    )
    shared = alt.Chart(alt.Data(values=[{"y": 0, "x": 33.6, "x2": 35.6}]))
    copy = shared.mark_rect(color=SHARED.css)
    name = shared.mark_text(
        text="shared", color=SHARED.css, dx=12, dy=24, fontWeight="bold"
    )
    drawn = [each.encode(x=x, x2="x2", y=y) for each in (cells, chosen, copy)]
    return alt.layer(*drawn, name.encode(x=x, y=y), height=260)


def _place() -> dict[str, str]:
    """Where expert e is drawn."""
    return {
        "x": f"datum.e % {PER_RANK}",
        "x2": f"datum.e % {PER_RANK} + 1",
        "y": f"floor(datum.e / {PER_RANK})",
    }
