"""What the live figure draws: the cost of requests against their tail latency."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity.triangle import (
    DEVICES,
    LASTS_S,
    LOADS,
    MODELS,
    TPOTS_S,
    TracedRate,
    points,
)
from llmserve_lab.disaggregation.goodput import ENOUGH
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import Landmark, landmarks
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import GREY, SERIES

TOKEN = QuantityAxis(
    q.tail_tpot,
    "ms",
    words="p90 of TPOT, log",
    domain=(4, 200),
    log=True,
    ticks={"values": [5, 10, 20, 50, 100, 200]},
)
MONEY = QuantityAxis(
    q.busy_cost,
    words="cost, log",
    domain=(20, 5_000),
    log=True,
    ticks={"values": [20, 50, 100, 200, 500, 1_000, 2_000, 5_000]},
)
KEPT, LATE, SLOW = "keeps both targets", "TTFT missed", "TPOT missed"
INKS = {KEPT: SERIES[0], LATE: SERIES[2], SLOW: SERIES[1]}
TARGET = Landmark("TPOT target", q.tpot_target)
SERVED_RATE, NEAR = "replica_rate", 0.15  # dots stand close to the goodput
SERVED = Landmark("cost at the goodput", q.busy_cost)


def table() -> str:
    """Every stored point as a line: which run, its rate, its tail, what it keeps."""
    return "\n".join(["m,d,l,r,t,k", *_lines()])


def _lines() -> Iterator[str]:
    for m, model in enumerate(MODELS):
        for d, device in enumerate(DEVICES):
            for n, load in enumerate(LOADS):
                lasting = (
                    p for p in points(model, device, load) if p.ttft_s <= LASTS_S
                )
                for each in lasting:
                    head = f"{m},{d},{n},{each.per_s:g},{each.tpot_s:.3g}"
                    yield f"{head},x{''.join(_kept(each))}"


def _kept(point: TracedRate) -> Iterator[str]:
    """For every pair of targets the place of a side: kept, or which one is missed."""
    for i, row in enumerate(point.kept):
        for j, share in enumerate(row):
            late = point.soon[i] < point.steady[j]
            yield "0" if share >= ENOUGH else "1" if late else "2"


def triangle() -> Any:
    """Cost against tail latency as the rate grows, by what is kept at each rate."""
    from llmserve_lab.extras import altair as alt

    numbers = dict.fromkeys("mdlrt", "number")
    data = alt.Data(values=table(), format=alt.CsvDataFormat(type="csv", parse=numbers))
    place = f"ttft * {len(TPOTS_S)} + tpot + 1"
    drawn = (
        alt.Chart(data)
        .transform_filter("datum.m == model && datum.d == accelerator")
        .transform_filter("datum.l == load")
        .transform_calculate(
            ms=TOKEN.scaled("datum.t", q.tail_tpot),
            cost=MONEY.draws(f.BUSY_COST, replica_rate="datum.r"),
            side=f"{list(INKS)}[toNumber(datum.k[{place}])]",
            said="format(datum.r, '.2~r') + '/s'",
        )
    )
    x, y = TOKEN.on("x", "ms"), MONEY.on("y", "cost")
    line = drawn.mark_line(color=GREY.css, clip=True).encode(
        x=x, y=y, order=alt.Order("r:Q")
    )
    dots = drawn.mark_point(filled=True, size=110, opacity=1, clip=True).encode(
        x=x, y=y, **by_ink("side", INKS)
    )
    words = (
        drawn.transform_window(place="row_number()", sort=[{"field": "r"}])
        .transform_filter("datum.place % 3 == 1")
        .transform_filter(f"abs(datum.r - {SERVED_RATE}) > {NEAR} * {SERVED_RATE}")
        .mark_text(align="right", dx=-9, dy=9, color=GREY.css, clip=True, fontSize=12)
        .encode(x=x, y=y, text="said:N")
    )
    target = landmarks(TOKEN, "x", "ms", TARGET)
    served = landmarks(MONEY, "y", "cost", SERVED)
    good = (
        alt.Chart(alt.Data(values=[{"place": 0}]))
        .transform_calculate(
            ms=TOKEN.scaled(TARGET.quantity.name, q.tpot_target),
            cost=MONEY.scaled(SERVED.quantity.name, q.busy_cost),
            said=f"'goodput ' + format({SERVED_RATE}, '.3~r') + '/s'",
        )
        .mark_text(align="left", dx=8, dy=-9, fontWeight="bold", fontSize=13)
        .encode(x=x, y=y, text="said:N")
    )
    return alt.layer(line, dots, words, *target, *served, good, height=300)
