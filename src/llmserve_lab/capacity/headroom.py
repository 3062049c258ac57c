"""Headroom: what must stand ready so that a cold start does no harm on a ramp.

An order is given up to one period of the control loop late and serves after the cold
start. Until then the rate grows, and what is ready must carry that growth as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil, inf
from typing import Any

from llmserve_lab.capacity import runs
from llmserve_lab.capacity.autoscaling import PERIOD_S, Autoscaler, scaled
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.trace import HOUR_S, MINUTE_S
from llmserve_lab.capacity.triangle import LEVEL, pool
from llmserve_lab.checks import at_least, positive, whole
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.page.table import Table

DRAWS = (1, 2, 3)  # seeds of the burst
# Age of a signal just before it is collected again: every 15 s; Prometheus' default.
METRIC_S, WORST_METRIC_S = 15.0, 60.0
TAKEN = {0.0: 21.0, METRIC_S: 17.0}  # targets of the fast start by age of the signal
# cold start in s, target, replicas in reserve (at least one stands), age of the signal
TRIED = (
    (runs.FAST_S, 35.0, 1, 0.0),
    (runs.FAST_S, 11.0, 1, 0.0),
    (runs.FAST_S, 35.0, 2, 0.0),
    (runs.FAST_S, TAKEN[0.0], 2, 0.0),
    (runs.FAST_S, TAKEN[0.0], 2, METRIC_S),
    (runs.FAST_S, TAKEN[METRIC_S], 2, METRIC_S),
    (runs.SLOW_S, 35.0, 1, 0.0),
    (runs.SLOW_S, 35.0, 3, 0.0),
    (runs.SLOW_S, 20.0, 1, 0.0),
    (runs.SLOW_S, 15.0, 1, 0.0),
)
UNSEEN = Unmeasured("a server in such a burst")


def growth() -> float:
    """Requests per second that the burst adds in each second of its ramp."""
    return (runs.HIGH - runs.LOW) / (runs.RAMP_MIN * MINUTE_S)


def grown(per_s2: float, cold_s: float, late_s: float = 0.0) -> float:
    """Requests per second that come on top from the order to the service.

    The signal that is read is ``late_s`` old.
    """
    at_least("per_s2", per_s2, 0)
    at_least("cold_s", cold_s, 0)
    at_least("late_s", late_s, 0)
    return per_s2 * (cold_s + PERIOD_S + late_s)


def order_rate(
    goodput: float,
    per_s2: float,
    cold_s: float,
    ready: int = 1,
    late_s: float = 0.0,
    highest: float | None = None,
) -> float:
    """Largest rate of each ready replica at which an order is early enough.

    At or below 0 none is: that many replicas cannot carry the growth itself. Where they
    carry the ``highest`` rate of the load, none is ever due: infinity.
    """
    positive("goodput", goodput)
    whole(ready=ready)
    if highest is not None and ready * goodput >= positive("highest", highest):
        return inf
    return goodput - grown(per_s2, cold_s, late_s) / ready


def standing(
    goodput: float, per_s2: float, cold_s: float, lowest: float = runs.LOW
) -> int:
    """Fewest replicas that carry the growth on top of the lowest rate of the load.

    Fewer would have to order at a rate that is always exceeded, so more always stand.
    """
    positive("goodput", goodput)
    return ceil((lowest + grown(per_s2, cold_s)) / goodput)


def tried() -> list[list[list[float]]]:
    """As it is stored: share kept and GPU-hours of each draw, by what is tried."""
    one = pool("llama-3.1-8b", "h100-sxm")
    found = []
    for cold_s, target, fewest, late_s in TRIED:
        policy = Autoscaler(
            "requests",
            target,
            cold_s=cold_s,
            fewest=fewest,
            most=runs.MOST,
            late_s=late_s,
        )
        found.append([outcome(seed, policy, one) for seed in DRAWS])
    return found


def outcome(seed: int, policy: Autoscaler, one: Any) -> list[float]:
    """Share kept and GPU-hours of one draw of the burst."""
    run = scaled(runs.burst(seed), one, policy)
    hours = run.replica_s_until(runs.LASTS_MIN * MINUTE_S) / HOUR_S
    return [round(run.kept(LEVEL), 4), round(hours, 3)]


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"


@dataclass(frozen=True)
class BurstOutcome:
    """What the draws of the burst came to: shares late, and GPU-hours on average."""

    shares: tuple[float, ...]
    hours: float

    @property
    def shown(self) -> str:
        """The largest share, as the text says it."""
        return _percent(max(self.shares))

    @property
    def best(self) -> str:
        """The smallest."""
        return _percent(min(self.shares))


@cache
def late(
    cold_s: float, target: float, reserve: int, late_s: float = 0.0
) -> BurstOutcome:
    """What was tried, as recorded."""
    draws = recorded()["headroom"][TRIED.index((cold_s, target, reserve, late_s))]
    kept, hours = zip(*draws, strict=True)
    return BurstOutcome(tuple(1 - each for each in kept), sum(hours) / len(hours))


def table() -> Table:
    """Table of the burst by cold start, target and reserve."""
    rows = []
    for cold_s, target, reserve, age_s in TRIED:
        found = late(cold_s, target, reserve, age_s)
        rows.append(
            (
                f"{cold_s:.0f} s",
                f"{target:.0f}",
                f"{reserve}",
                f"{age_s:.0f} s",
                f"{min(found.shares):.1%} to {max(found.shares):.1%}",
                f"{found.hours:.2f}",
            )
        )
    columns = ("cold start", "target", "at least", "signal's age", "late", "GPU-hours")
    caption = (
        "The burst in three draws: requests in flight that one replica should show, "
        "replicas that always stand, age of what the loop reads, share late, GPU-hours "
        "on average"
    )
    return Table(caption, columns, rows, band=UNSEEN)
