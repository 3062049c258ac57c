"""The day under an autoscaler: what is paid for it, and how many requests are late.

Hours whose load is known in advance are a lower bound of what an autoscaler pays. Here
the control loop follows the load as it comes: the recorded hour is played again and
again, each time as fast as the day asks.
"""

from __future__ import annotations

from functools import cache
from math import pi, sin

import numpy as np

from llmserve_lab.capacity import day
from llmserve_lab.capacity.autoscaling import Autoscaler, scaled
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.runs import LASTS_MIN, SLOW_S, Stored
from llmserve_lab.capacity.trace import HOUR_S, MINUTE_S, Requests, azure_hour
from llmserve_lab.capacity.triangle import LEVEL, pool
from llmserve_lab.catalog.data.prices import H100_OCTOBER
from llmserve_lab.checks import at_least
from llmserve_lab.engine import Request
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.page.table import Table

DAYS = 30  # of a month
PEAK_H = (14.0, 18.0)  # where a fixed number is late most
GRID_S = 30.0  # on which the requests so far are counted
TARGET, FEWEST, MOST = 24.0, 2, 6  # of the plan
UNSEEN = Unmeasured("a server on such a day")
FIXED, FOLLOWED = "fixed", "requests"
# What is watched, cold start in s, replicas that always stand, most of them.
TRIED = (
    (FIXED, 0.0, 5, 5),
    (FIXED, 0.0, MOST, MOST),
    (FOLLOWED, SLOW_S, FEWEST, MOST),
)


def so_far(hour: float) -> float:
    """Requests of the day that have come before an hour of it, by its cosine."""
    middle, swing = (day.HIGHEST + day.LOWEST) / 2, (day.HIGHEST - day.LOWEST) / 2
    turn = 2 * pi / day.HOURS
    waves = sin(turn * (hour - day.BUSIEST)) + sin(turn * day.BUSIEST)
    return HOUR_S * (middle * hour + swing * waves / turn)


def played(since_h: float = 0.0, until_h: float = day.HOURS) -> tuple[Request, ...]:
    """Requests of a part of the day: the recorded hour, repeated and stretched.

    The mean rate at each moment is the day's; bursts within the hour stay in it, as
    much shorter as the hour is played faster. Times count from ``since_h``.

    Raises:
        ValueError: the part begins before the day or ends before it begins.
    """
    at_least("since_h", since_h, 0)
    at_least("until_h", until_h, since_h)
    hour = azure_hour()
    recorded_s = np.array([each.arrival_s for each in hour]) / hour[-1].arrival_s
    first, last = so_far(since_h), so_far(until_h)
    times = int((last - first) / len(hour)) + 1
    counts = (np.arange(times)[:, None] + recorded_s).ravel() * len(hour)
    counts = counts[counts < last - first]
    grid = np.arange(since_h * HOUR_S, until_h * HOUR_S + GRID_S, GRID_S)
    come = [so_far(at / HOUR_S) - first for at in grid]
    arrivals = np.interp(counts, come, grid - since_h * HOUR_S).tolist()
    return tuple(
        Request(
            arrival_s=at,
            prompt_len=hour[number % len(hour)].prompt_len,
            output_len=hour[number % len(hour)].output_len,
            id=number,
        )
        for number, at in enumerate(arrivals)
    )


def policy(watched: str, cold_s: float, fewest: int, most: int) -> Autoscaler:
    """The control loop of one thing that was tried."""
    if watched == FIXED:
        return Autoscaler("none", fewest=fewest, most=most)
    return Autoscaler("requests", TARGET, cold_s=cold_s, fewest=fewest, most=most)


def outcome(requests: Requests, loop: Autoscaler, *, hours: float) -> list[float]:
    """Share late in the worst half hour, and replica-hours paid for so many hours."""
    run = scaled(requests, pool("llama-3.1-8b", "h100-sxm"), loop)
    paid = run.replica_s_until(hours * HOUR_S) / HOUR_S
    return [round(run.worst_late(LEVEL), 5), round(paid, 2)]


def tried() -> list[list[float]]:
    """As it is stored: the day under the loops, its peak with a fixed number."""
    return [_tried(*each) for each in TRIED]


def _tried(watched: str, cold_s: float, fewest: int, most: int) -> list[float]:
    loop = policy(watched, cold_s, fewest, most)
    if watched != FIXED:
        return outcome(played(), loop, hours=day.HOURS)
    late, _ = outcome(played(*PEAK_H), loop, hours=PEAK_H[1] - PEAK_H[0])
    return [late, float(day.HOURS * most)]


@cache
def outcomes() -> tuple[tuple[float, float], ...]:
    """Late in the worst half hour and replica-hours of all that was tried."""
    return tuple((late, hours) for late, hours in recorded()["followed"])


def month_usd(replica_h: float) -> float:
    """Dollars of thirty such days, in the month in which GPUs are compared."""
    return DAYS * replica_h * float(H100_OCTOBER)


def day_with_burst_h(run: Stored) -> float:
    """GPU-hours of a day with one burst: what stands before it stands all day."""
    rest_h = day.HOURS - LASTS_MIN * MINUTE_S / HOUR_S
    return run.gpu_h + rest_h * run.ready[0]


def table(by_hour: int) -> Table:
    """Table of the day: fixed numbers, autoscalers, hours known in advance."""
    rows = [
        (
            f"{most}, fixed" if watched == FIXED else f"autoscaler, {fewest} to {most}",
            f"{cold_s:.0f} s" if cold_s else "–",
            f"{late:.1%}",
            f"{hours:.0f}",
            f"{month_usd(hours):,.0f}",
        )
        for (watched, cold_s, fewest, most), (late, hours) in zip(
            TRIED, outcomes(), strict=True
        )
    ]
    known = ("each hour known in advance", "–", "not simulated", f"{by_hour}")
    rows.append((*known, f"{month_usd(by_hour):,.0f}"))
    columns = ("replicas", "cold start", "late", "replica-hours", "$/month")
    caption = (
        f"A day of the recorded traffic between {day.LOWEST:.0f} and {day.HIGHEST:.0f} "
        "requests/s, simulated: share "
        "of requests that miss a target in the worst half hour, replica-hours paid, "
        "dollars of thirty days at October's price"
    )
    return Table(caption, columns, rows, band=UNSEEN)
