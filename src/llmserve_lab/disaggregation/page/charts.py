"""What the live figures draw: links against the cache, promises kept, rates carried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.catalog import LINKS
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.goodput import (
    CHUNKS,
    HANDS,
    LIMITS_S,
    LOADS,
    POOLS,
    SHOWN,
    SMALLS,
    served_best,
)
from llmserve_lab.disaggregation.hop import SHARED_BY
from llmserve_lab.disaggregation.page.controls import BY_BANDWIDTH
from llmserve_lab.disaggregation.served import LINK, known, load
from llmserve_lab.page.live.axes import QuantityAxis
from llmserve_lab.page.live.bound import BoundMark, Landmark, Marks, landmarks, picked
from llmserve_lab.page.live.marks import by_ink
from llmserve_lab.page.palette import INK, NARROW, SERIES
from llmserve_lab.running_example import share

BANDWIDTH = QuantityAxis(
    q.link_bw,
    "GB/s",
    words="bandwidth reached",
    domain=(1, 1000),
    log=True,
)
HIDES, BEHIND = "hides it", "falls behind"
SIDES = {HIDES: SERIES[0], BEHIND: SERIES[1]}
MADE = Landmark("prefill makes cache", q.kv_made_per_s, "made_kv_made_per_s")
FLEET = 4
FEWEST_MS, MOST_MS, EACH_MS = 7.0, 60.0, 0.5  # of the promise, along its axis
# Room for "0.25" from the beginning: the title stays where it is.
RATE = QuantityAxis(
    q.shared_rate, words="rate that four GPUs carry", ticks={"minExtent": 34}
)
PROMISED = QuantityAxis(q.tpot_target, "ms", words="promised TPOT", domain=(0, 60))
ONE, TWO, WHOLE_GPUS = Marks(
    BoundMark("one engine", f.SHARED_RATE, SERIES[0], "one_shared_rate"),
    BoundMark("two pools, best split", f.BEST_POOLS_RATE, SERIES[1]),
    BoundMark("two pools, 2P:2D", f.POOLS_RATE, SERIES[2]),
)
INKS = dict(zip(SHOWN, (SERIES[0], SERIES[3], SERIES[1]), strict=True))
ARRIVALS = QuantityAxis(q.arrival_rate, words="goodput, requests/s")


def ruler() -> Any:
    """Every link on a ruler of bandwidth, and the rate at which cache is made."""
    from llmserve_lab.extras import altair as alt

    reached = float(share().link)
    rows = [
        {"link": link.name, "bw": float(link.bandwidth) * reached}
        for link in BY_BANDWIDTH
    ]
    port = float(LINKS[LINK].bandwidth) * reached
    rows.append({"link": f"{SHARED_BY} GPUs on an NDR port", "bw": port / SHARED_BY})
    short = f"width < {NARROW} ? split(datum.label, ' (')[0] : datum.label"
    axis = alt.Axis(labelExpr=short, labelLimit=240)
    y = alt.Y("link", type="nominal", sort=None, title=None, axis=axis)
    x = BANDWIDTH.on("x", "shown")
    side = f"datum.bw < {MADE.signal} ? '{BEHIND}' : '{HIDES}'"
    points = (
        alt.Chart(alt.Data(values=rows))
        .transform_calculate(shown=BANDWIDTH.scaled("datum.bw", q.link_bw), side=side)
        .mark_point(filled=True, size=130, opacity=1)
        .encode(x=x, y=y, color=by_ink("side", SIDES)["color"])
    )
    return alt.layer(points, *landmarks(BANDWIDTH, "x", "shown", MADE), height=210)


def promises() -> Any:
    """The rate of each way by promise, and where two pools cease to carry more."""
    from llmserve_lab.extras import altair as alt

    x, y = PROMISED.on("x", "ms"), RATE.on("y", "rate")
    marks = (ONE, TWO, WHOLE_GPUS)
    rates = {mark.name: mark.draw(RATE, **_tied(mark.formula)) for mark in marks}
    steps = alt.sequence(FEWEST_MS, MOST_MS + EACH_MS, EACH_MS, as_="ms")
    # A promise that one request alone breaks has no rate, and so no line.
    alone = QuantityAxis(q.decode_batch).draws(f.DECODE_BATCH, **_tied(f.DECODE_BATCH))
    rows = alt.Chart(steps).transform_filter(f"{alone} >= 1")
    lines = (
        rows.transform_calculate(way=str(list(rates)))
        .transform_flatten(["way"])
        .transform_calculate(rate=picked("way", rates))
        .mark_line(clip=True)
        .encode(x=x, y=y, **by_ink("way", {m.name: m.ink for m in marks}))
    )
    # At the foot, where no line comes; left of its own at the right end of the axis.
    promise = Landmark("promised", q.tpot_target, down=185, left="tpot_target > 0.04")
    pools = [rates[two.name] for two in (TWO, WHOLE_GPUS)]
    even = _even(rows, rates[ONE.name], pools).encode(x=x, y=y)
    return alt.layer(lines, even, *landmarks(PROMISED, "x", "ms", promise), height=205)


def _even(rows: Any, one: str, pools: list[str]) -> Any:
    """A point where the advantage of pools turns, on a straight line between rows."""
    from llmserve_lab.extras import altair as alt

    found = (
        rows.transform_calculate(
            rate=one, pools=f"[{', '.join(pools)}]", which=str([*range(len(pools))])
        )
        .transform_flatten(["pools", "which"])
        .transform_calculate(more="datum.pools - datum.rate")
        .transform_window(
            before="lag(more)",
            last="lag(rate)",
            sort=[{"field": "ms"}],
            groupby=["which"],
        )
        .transform_filter("datum.before > 0 && datum.more <= 0")
        .transform_calculate(back="datum.more / (datum.more - datum.before)")
        .transform_calculate(
            ms=f"datum.ms - {EACH_MS} * datum.back",
            rate="datum.rate - (datum.rate - datum.last) * datum.back",
        )
        .transform_calculate(said="'even at ' + format(datum.ms, '.0f') + ' ms'")
    )
    point = found.mark_point(filled=True, size=90, color=INK.css, opacity=1)
    words = found.mark_text(dx=6, dy=14, color=INK.css, align="left", fontWeight="bold")
    return alt.layer(point, words.encode(text=alt.Text("said", type="nominal")))


def _tied(formula: Any) -> dict[str, Any]:
    """The constants of the machine that the formula asks for, and the row's promise."""
    free = {"prompt_len", "new_tokens"}
    has: Mapping[str, Any] = known(load(), n_prefill=FLEET / 2, n_decode=FLEET / 2)
    tied: dict[str, Any] = {
        leaf.name: float(has[leaf.name])
        for leaf in formula.leaves(keep=frozenset({"weight_bytes"}))
        if leaf.name in has and leaf.name not in free
    }
    return tied | {"tpot_target": "(datum.ms / 1000)"}


def goodput() -> Any:
    """The goodput of each way by promise, as the choices have it."""
    from llmserve_lab.extras import altair as alt

    lines = [
        f"{i},{j},{SHOWN.index(way)},{limit_s:g},{per_s:.1f}"
        for i, load in enumerate(LOADS)
        for way in SHOWN
        for j, case, hand in _cases(way)
        for limit_s in LIMITS_S
        for per_s in (served_best(case, limit_s, hand, load).per_s,)
    ]
    numbers = dict.fromkeys("ljwts", "number")
    data = alt.Data(
        values="\n".join(["l,j,w,t,s", *lines]),
        format=alt.CsvDataFormat(type="csv", parse=numbers),
    )
    x, y = PROMISED.on("x", "ms"), ARRIVALS.on("y", "s")
    drawn = (
        alt.Chart(data)
        .transform_filter("datum.l == load && datum.j == [0, extra, hand][datum.w]")
        .transform_calculate(
            way=f"{list(SHOWN)}[datum.w]", ms=PROMISED.scaled("datum.t", q.tpot_target)
        )
        .mark_line(clip=True, point={"size": 60, "filled": True})
        .encode(x=x, y=y, **by_ink("way", INKS))
    )
    promise = Landmark("promised", q.tpot_target)
    return alt.layer(drawn, *landmarks(PROMISED, "x", "ms", promise), height=205)


def _cases(way: str) -> list[tuple[int, str, str]]:
    """A way by its own choice: its number, what is simulated, and the hand-over."""
    if way == POOLS:
        return [(j, way, hand) for j, hand in enumerate(HANDS)]
    ways = SMALLS if way == CHUNKS else (way,)
    return [(j, each, HANDS[0]) for j, each in enumerate(ways)]
