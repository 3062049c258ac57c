"""Runs at the goodputs of the page, as stored: caps, charges, latencies, GPUs behind.

They take rates out of the record, so they are made after the goodputs are written.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import cache
from math import isinf
from typing import Any

from llmserve_lab.capacity import budget, by_hand, day, headroom, runs, tables
from llmserve_lab.capacity.autoscaling import TOLERANCE
from llmserve_lab.capacity.level import Kept
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.sweep import LONG_S, SHARES
from llmserve_lab.capacity.trace import azure_hour
from llmserve_lab.capacity.triangle import (
    LEVEL,
    LOADS,
    TracedRate,
    goodput,
    points,
    pool,
    served,
)
from llmserve_lab.checks import key_of
from llmserve_lab.engine import simulate
from llmserve_lab.page.table import Table

SEQS = 48  # requests that run at most, of the cap that the page tells of
FEW = 4  # replicas that the goodput of even arrivals would leave for the day's peak
OVER = 0.8  # of the rate of a queue that never ends: past the goodput, but steady
DIGITS = 6


def shown() -> float:
    """Goodput of the page's replica as it is printed."""
    return round(goodput(points(), LEVEL.ttft_s, LEVEL.tpot_s), 1)


def full() -> TracedRate:
    """The page's replica where as many requests come as a queue without end gives."""
    return points()[SHARES.index(1.0) - len(SHARES)]


def beyond() -> TracedRate:
    """The page's replica where four fifths of what it could work off arrive.

    Past its goodput, and still a steady state: the number in flight stops growing.
    """
    return min(points(), key=lambda each: abs(each.per_s - OVER * full().per_s))


def order_rates() -> tuple[float, float]:
    """Rates of a ready replica at which an order is early enough: new metrics, old."""
    one, growth = shown(), headroom.growth()
    ready = headroom.standing(one, growth, runs.FAST_S)
    fresh, aged = (
        headroom.order_rate(one, growth, runs.FAST_S, ready, late_s)
        for late_s in (0.0, headroom.METRIC_S)
    )
    return fresh, aged


def caps_all() -> dict[str, Any]:
    """What is kept under each cap at the goodput; under one of them when full."""
    free, most = shown(), full().per_s
    asked = {free: (runs.slots(), SEQS, *budget.CAPS), most: (SEQS,)}
    return {
        f"{rate:g}": {
            f"{slots}": _short(*astuple(budget.with_slots(rate, slots))[1:])
            for slots in dict.fromkeys(caps)
        }
        for rate, caps in asked.items()
    }


def charged_all() -> dict[str, Any]:
    """Seconds of the replica by load, charged to prompts, to answers and to nothing."""
    return {
        f"{rate:g}": _short(*astuple(tables.charged_run(rate)))
        for rate in tables.rates()
    }


def latencies_all() -> dict[str, Any]:
    """Mean latencies at three rates of even arrivals, and of the hour."""
    even = {_name(rate): runs.little(rate)[0] for rate in (shown(), *order_rates())}
    found = even | {"hour": runs.little_of_the_hour()[0]}
    return dict(zip(found, _short(*found.values()), strict=True))


def loads() -> tuple[float, ...]:
    """Rates of the table of loads: small ones, order rates, goodput, beyond it."""
    fresh, aged = order_rates()
    return tables.NIGHT, tables.LITTLE, aged, fresh, shown(), round(beyond().per_s, 1)


def loads_all() -> dict[str, Any]:
    """TPOT on average and in nine of ten, latency, share in time: by rate."""
    one = pool("llama-3.1-8b", "h100-sxm")
    found = {}
    for rate in loads():
        report = served(LOADS[0], rate, one, seconds=LONG_S)
        kept = LEVEL.kept(report)
        times = (report.tpot_s.mean(), kept.nearest_tpot_s, report.latency_s.mean())
        found[_name(rate)] = _short(*map(float, times), kept.both)
    return found


def few_all() -> float:
    """Share in time of the day's peak on one replica too few, lengths as recorded."""
    return round(runs.kept_of_the_hour(day.HIGHEST, replicas=FEW), 4)


def best_all() -> float:
    """TPOT that nine in ten keep on the cheapest deployment that the search found."""
    best = runs.searched().best
    assert best is not None
    report = simulate(azure_hour(), best.pool)
    return float(f"{runs.SEARCHED.kept(report).nearest_tpot_s:.{DIGITS}g}")


def _short(*numbers: float) -> list[float]:
    return [float(f"{each:.{DIGITS}g}") for each in numbers]


def _name(rate: float) -> str:
    return f"{rate:.{DIGITS}g}"


@cache
def capped(per_s: float, slots: int) -> Kept:
    """What a rate keeps with so many requests running at most, as recorded.

    Raises:
        ValueError: this rate or this cap is not among those that are stored.
    """
    stored = recorded()["caps"]
    key_of("per_s", f"{per_s:g}", stored)
    key_of("slots", f"{slots}", stored[f"{per_s:g}"])
    return Kept(LEVEL, *stored[f"{per_s:g}"][f"{slots}"])


def latency_s(per_s: float) -> float:
    """Mean latency on an H100 at a rate of even arrivals, as recorded.

    Raises:
        ValueError: this rate is not among those that are stored.
    """
    stored = recorded()["latencies"]
    key_of("per_s", _name(per_s), stored)
    return float(stored[_name(per_s)])


def hour_latency_s() -> float:
    """Mean latency of the hour at the goodput of one H100 for it, as recorded."""
    return float(recorded()["latencies"]["hour"])


@dataclass(frozen=True)
class Loaded:
    """What an H100 shows at a rate of even arrivals: times, and the share in time."""

    per_s: float
    tpot_s: float
    p90_tpot_s: float
    latency_s: float
    kept: float

    @property
    def in_flight(self) -> float:
        """Requests waiting or running on average, by Little's law."""
        return self.per_s * self.latency_s


@cache
def loaded() -> tuple[Loaded, ...]:
    """Every load of the table, as recorded."""
    rows = recorded()["loads"].items()
    return tuple(Loaded(float(rate), *row) for rate, row in rows)


def table() -> Table:
    """Table of what an H100 shows as the rate of arrivals grows."""
    rows = [
        (
            f"{each.per_s:g}",
            f"{1e3 * each.tpot_s:.1f}",
            f"{1e3 * each.p90_tpot_s:.1f}",
            f"{each.p90_tpot_s / each.tpot_s:.2f}",
            f"{each.latency_s:.2f}",
            f"{each.in_flight:.1f}",
            f"{each.kept:.0%}",
        )
        for each in loaded()
    ]
    times = ("mean TPOT, ms", "p90 TPOT, ms", "p90 / mean", "mean latency, s")
    columns = ("requests/s", *times, "in flight", "in time")
    caption = (
        "One H100 by rate of arrivals (usual requests; latency: arrival to last token; "
        "TPOT: mean over requests, over tokens it is up to 2% shorter, so that "
        f"{by_hand.STEPS} · TPOT may exceed the latency)"
    )
    return Table(caption, columns, rows, band=tables.UNSEEN)


def orders() -> Table:
    """Table of headroom by hand: when an order is due, and the largest target."""
    one, growth, rows = shown(), headroom.growth(), []
    two = headroom.standing(one, growth, runs.FAST_S)
    for ready, cold_s, age_s in (
        (two, runs.FAST_S, 0.0),
        (two, runs.FAST_S, headroom.METRIC_S),
        (two, runs.FAST_S, headroom.WORST_METRIC_S),
        (two, runs.SLOW_S, 0.0),
        (two + 1, runs.SLOW_S, 0.0),
    ):
        rate = headroom.order_rate(one, growth, cold_s, ready, age_s, runs.HIGH)
        always, due = runs.LOW / ready, f"{rate:.2f}".replace("-", "−")
        flight = "–"
        target = "none: below zero" if rate <= 0 else f"none: {always:.0f} always come"
        if isinf(rate):
            due, target = "never", f"any: {ready * one:.1f} carry {runs.HIGH:.0f}"
        elif rate in order_rates():
            latency = round(latency_s(rate), 2)
            flight = f"{rate * latency:.1f}"
            target = f"{float(flight) / (1 + TOLERANCE):.1f}"
        rows.append(
            (
                f"{ready}",
                f"{cold_s:.0f} s",
                f"{age_s:.0f} s",
                f"{headroom.grown(growth, cold_s, age_s):.1f}",
                due,
                flight,
                target,
            )
        )
    heads = ("stand", "cold start", "signal's age", "growth, /s", "due at, /s")
    columns = (*heads, "in flight", "target below")
    caption = (
        "Headroom by hand: replicas that always stand, growth of the rate until the "
        "new one serves, rate of each at which the order is due, requests in flight "
        "there"
    )
    return Table(caption, columns, rows, band=headroom.UNSEEN)


def few_kept() -> float:
    """Share in time of the day's peak on one replica too few, as recorded."""
    return float(recorded()["few"])


def best_tpot_s() -> float:
    """TPOT that nine in ten keep on the cheapest that the search found, as recorded."""
    return float(recorded()["best"])
