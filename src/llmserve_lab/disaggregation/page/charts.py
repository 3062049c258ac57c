"""What the live figures draw: links against the cache, promises kept, rates carried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.goodput import (
    ENOUGH,
    HANDS,
    KINDS,
    LIMITS_S,
    LOADS,
    POOLS,
    WAYS,
    Demand,
    best,
)
from llmserve_lab.disaggregation.page.controls import BY_BANDWIDTH
from llmserve_lab.disaggregation.served import known, load
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import BoundMark, Landmark, Marks, landmarks, picked
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import GREY, NARROW, SERIES
from llmserve_lab.running_example import share

BANDWIDTH = QuantityAxis(
    q.link_bw,
    "GB/s",
    words="bandwidth of the link, as reached",
    domain=(1, 1000),
    log=True,
)
HIDES, BEHIND = "hides it", "falls behind"
SIDES = {HIDES: SERIES[0], BEHIND: SERIES[1]}
MADE = Landmark("cache is made", q.kv_made_per_s, "made_kv_made_per_s")
FLEET = 4
FEWEST, MOST, STEPS = 1, 400, 80
RATE = QuantityAxis(q.shared_rate, words="rate that four GPUs carry", domain=(0, 100))
TOKEN = QuantityAxis(q.decode_step_s, "ms", words="mean step: TPOT", domain=(0, 60))
ONE, TWO = Marks(
    BoundMark("one engine", f.SHARED_RATE, SERIES[0], "one_shared_rate"),
    BoundMark("two pools", f.BEST_POOLS_RATE, SERIES[1], "two_best_pools_rate"),
)
INKS = dict(zip(WAYS, (SERIES[0], SERIES[2], SERIES[1]), strict=True))
ARRIVALS = QuantityAxis(q.arrival_rate, words="requests that arrive per second")
KEPT = QuantityAxis(
    q.slo_share, words="share of requests within both limits", domain=(0, 1)
)


def ruler() -> Any:
    """Every link on a ruler of bandwidth, and the rate at which cache is made."""
    from llmserve_lab.extras import altair as alt

    rows = [
        {"link": link.name, "bw": float(link.bandwidth) * float(share().link)}
        for link in BY_BANDWIDTH
    ]
    short = f"width < {NARROW} ? truncate(datum.label, 16) : datum.label"
    axis = alt.Axis(labelExpr=short, labelLimit=220)
    y = alt.Y("link", type="nominal", sort=None, title=None, axis=axis)
    x = BANDWIDTH.on("x", "shown")
    side = f"datum.bw < {MADE.signal} ? '{BEHIND}' : '{HIDES}'"
    points = (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(shown=BANDWIDTH.scaled("datum.bw", q.link_bw), side=side)
        .mark_point(filled=True, size=130, opacity=1)
        .encode(x=x, y=y, color=by_ink("side", SIDES)["color"])
    )
    return alt.layer(points, *landmarks(BANDWIDTH, "x", "shown", MADE), height=330)


def promises() -> Any:
    """Time per token against the rate, as the batch grows, until memory is full."""
    from llmserve_lab.extras import altair as alt

    x, y = RATE.on("x", "rate"), TOKEN.on("y", "ms")
    held = {"shared_batch": "datum.held", "decode_batch": "datum.held"}
    drawn = {
        ONE.name: (f.SHARED_RATE, f.SHARED_STEP_S),
        TWO.name: (f.BEST_POOLS_RATE, f.DECODE_STEP_S),
    }
    rates = {
        n: RATE.draws(rate, **_tied(rate), **held) for n, (rate, _) in drawn.items()
    }
    times = {
        n: TOKEN.draws(step, **_tied(step), **held) for n, (_, step) in drawn.items()
    }
    lines = (
        alt.Chart(alt.sequence(0, STEPS + 1, as_="i"))
        .transform_calculate(
            held=f"{FEWEST} * pow({MOST / FEWEST}, datum.i / {STEPS})",
            way=f"['{ONE.name}', '{TWO.name}']",
        )
        .transform_filter("datum.held <= batch_fits")
        .transform_flatten(["way"])
        .transform_calculate(rate=picked("way", rates), ms=picked("way", times))
        .mark_line(clip=True)
        .encode(
            x=x,
            y=y,
            order=alt.Order("i:Q"),
            **by_ink("way", {m.name: m.ink for m in (ONE, TWO)}),
        )
    )
    promise = Landmark("promised", q.tpot_target)
    return alt.layer(lines, *landmarks(TOKEN, "y", "ms", promise), height=330)


def _tied(formula: Any) -> dict[str, float]:
    """The constants of the machine, of those that the formula asks for."""
    free = {"prompt_len", "new_tokens", "overlap", "overlap_kv"}
    has: Mapping[str, Any] = known(load(), n_prefill=FLEET / 2, n_decode=FLEET / 2)
    stand = frozenset({"shared_batch", "decode_batch", "weight_bytes"})
    return {
        leaf.name: float(has[leaf.name])
        for leaf in formula.leaves(keep=stand)
        if leaf.name in has and leaf.name not in free
    }


def _line(load: Demand, way: str, limit_s: float, hand: str) -> Any:
    """Rates and shares of the best variant."""
    found = best(load, way, kind=KINDS[0], limit_s=limit_s, hand=hand)
    return zip(found.rates, found.shares, strict=True)


def goodput() -> Any:
    """Share of the requests that keep the service level, as the rate grows."""
    from llmserve_lab.extras import altair as alt

    lines = [
        f"{i},{j},{k},{WAYS.index(way)},{rate:g},{kept:.3f}"
        for i, each in enumerate(LOADS)
        for j, limit in enumerate(LIMITS_S)
        for k, hand in enumerate(HANDS)
        for way in WAYS
        if way == POOLS or k == 0
        for rate, kept in _line(each, way, limit, hand)
    ]
    numbers = dict.fromkeys("lthwrs", "number")
    data = alt.Data(
        values="\n".join(["l,t,h,w,r,s", *lines]),
        format=alt.CsvDataFormat(type="csv", parse=numbers),
    )
    mine = "datum.l == load && datum.t == limit"
    hand = f"(datum.h == hand || datum.w != {WAYS.index(POOLS)})"
    x, y = ARRIVALS.on("x", "r"), KEPT.on("y", "s")
    drawn = (
        alt.Chart(data)
        .transform_filter(f"{mine} && {hand}")
        .transform_calculate(way=f"{list(WAYS)}[datum.w]")
    )
    color = by_ink("way", INKS)
    rule = (
        alt.Chart(alt.Data(values=[{"s": ENOUGH}]))
        .mark_rule(strokeDash=[4, 3], color=GREY.css)
        .encode(y=KEPT.on("y", "s"))
    )
    words = (
        alt.Chart(alt.Data(values=[{"s": ENOUGH}]))
        .mark_text(align="left", dx=4, dy=-7, color=GREY.css, text="nine in ten")
        .encode(y=KEPT.on("y", "s"), x=alt.value(0))
    )
    return alt.layer(
        drawn.mark_line(clip=True).encode(x=x, y=y, **color), rule, words, height=300
    )
