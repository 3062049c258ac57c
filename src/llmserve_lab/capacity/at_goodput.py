"""Runs at the goodputs of the page, as stored: caps, charges, latencies, GPUs behind.

They take rates out of the record, so they are made after the goodputs are written.
"""

from __future__ import annotations

from dataclasses import astuple
from functools import cache
from typing import Any

from llmserve_lab.capacity import budget, day, headroom, runs, tables
from llmserve_lab.capacity.level import Kept
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.sweep import SHARES
from llmserve_lab.capacity.trace import azure_hour
from llmserve_lab.capacity.triangle import LEVEL, TracedRate, goodput, points
from llmserve_lab.checks import key_of
from llmserve_lab.engine import simulate

SEQS = 48  # requests that run at most, of the cap that the page tells of
FEW = 4  # replicas that the goodput of even arrivals would leave for the day's peak
DIGITS = 6


def shown() -> float:
    """Goodput of the page's replica as it is printed."""
    return round(goodput(points(), LEVEL.ttft_s, LEVEL.tpot_s), 1)


def full() -> TracedRate:
    """The page's replica where as many requests come as a queue without end gives."""
    return points()[SHARES.index(1.0) - len(SHARES)]


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


def few_kept() -> float:
    """Share in time of the day's peak on one replica too few, as recorded."""
    return float(recorded()["few"])


def best_tpot_s() -> float:
    """TPOT that nine in ten keep on the cheapest that the search found, as recorded."""
    return float(recorded()["best"])
