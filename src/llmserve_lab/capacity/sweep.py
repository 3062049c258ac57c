"""Rates of a replica, swept by the engine: the stored points, and where they cross.

Each point is one long draw of requests: a short one begins with an empty server, which
flatters it, and its goodput moves with the draw by more than the page's digits.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from llmserve_lab import running_example
from llmserve_lab.capacity.level import ServiceLevel
from llmserve_lab.capacity.triangle import (
    DEVICES,
    LEVEL,
    LOADS,
    MODELS,
    RELAXED,
    TPOTS_S,
    TTFTS_S,
    MeanLengths,
    pool,
    reached,
    served,
)
from llmserve_lab.disaggregation.goodput import ENOUGH
from llmserve_lab.engine import Pool, Report
from llmserve_lab.engine.metrics.percentile import percentile

LONG_S = 1200.0  # of arrivals at each rate
NARROW = 0.03  # rates beside a goodput are at most this far apart, as a share
CLOSE = 0.01  # and where only a goodput is looked for
DRAWS = (2, 3, 4, 5)  # seeds beside that of the stored points
# Rates, as shares of what comes out of a short backlog.
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5)


def saturation(demand: MeanLengths, pool: Pool) -> float:
    """Requests per second out of a backlog that never ends."""
    done = np.sort(served(demand, 1000.0, pool, seconds=1.2).finished_s)
    quarter = len(done) // 4
    return float(2 * quarter / (done[3 * quarter] - done[quarter]))


def over(report: Report, ttft_s: float, tpot_s: float) -> float:
    """P90 of the larger of both times over its target: 1 where nine in ten keep both.

    Where TPOT is missed first it is the P90 of TPOT over its target.
    """
    steps = np.maximum(report.output_len - 1, 1)
    per_token_s = (report.last_token_s - report.first_token_s) / steps
    worse = np.maximum(report.ttft_s / ttft_s, per_token_s / tpot_s)
    return percentile(worse, q=100 * ENOUGH, method="inverted_cdf")


def point(report: Report, per_s: float) -> list[Any]:
    """One rate as it is stored: numbers to five digits."""
    tokens = per_s * float(report.output_len.mean())
    ends = (
        ServiceLevel(1, 1).kept(report).nearest_ttft_s,
        ServiceLevel(1, 1).kept(report).nearest_tpot_s,
    )
    kept = [
        [report.slo_attainment(ttft_s=first, tpot_s=each) for each in TPOTS_S]
        for first in TTFTS_S
    ]
    worst = [
        [float(f"{over(report, first, each):.5g}") for each in TPOTS_S]
        for first in TTFTS_S
    ]
    soon = [report.slo_attainment(ttft_s=first) for first in TTFTS_S]
    steady = [report.slo_attainment(tpot_s=each) for each in TPOTS_S]
    head = [float(f"{x:.5g}") for x in (per_s, *ends, tokens)]
    return [*head, _rounded(kept), _rounded(soon), _rounded(steady), worst]


def _rounded(found: Any) -> Any:
    return np.round(np.array(found), 4).tolist()


def crossing(
    one: Pool,
    demand: MeanLengths = LOADS[0],
    level: ServiceLevel = LEVEL,
    *,
    between: tuple[float, float] = (0.0, 0.0),
    seed: int = 1,
) -> float:
    """Goodput of a replica, by halving: long runs until two rates are close.

    ``between`` are rates to begin with, one that keeps the level and one that does
    not; by default nothing and what comes out of a backlog.
    """
    low, high = between if any(between) else (0.0, 1.2 * saturation(demand, one))
    rates, times = [low, high], [0.5, 2.0]  # of the two: which side, nothing else
    while rates[1] - rates[0] > CLOSE * rates[1]:
        rate = sum(rates) / 2
        report = served(demand, rate, one, seconds=LONG_S, seed=seed)
        time = over(report, level.ttft_s, level.tpot_s)
        side = int(time > 1)
        rates[side], times[side] = rate, time
    return reached(rates, times)


def traced(one: Pool, demand: MeanLengths, *, closely: bool = False) -> list[Any]:
    """Points of one replica by rate; ``closely``: more of them beside two goodputs."""
    most = saturation(demand, one)
    rates = [float(f"{share * most:.3g}") for share in SHARES]
    rows = {rate: _point_at(demand, rate, one) for rate in rates}
    for level in (LEVEL, RELAXED) if closely else ():
        i, j = TTFTS_S.index(level.ttft_s), TPOTS_S.index(level.tpot_s)
        while wide := _knee(sorted(rows.items()), i, j):
            rate = float(f"{sum(wide) / 2:.3g}")
            if rate in rows:
                break
            rows[rate] = _point_at(demand, rate, one)
    return [rows[rate] for rate in sorted(rows)]


def _point_at(demand: MeanLengths, rate: float, one: Pool) -> list[Any]:
    return point(served(demand, rate, one, seconds=LONG_S), rate)


def _knee(
    rows: list[tuple[float, list[Any]]], i: int, j: int
) -> tuple[float, float] | None:
    """Rates between which a level is lost, if they are still far apart."""
    for (low, _), (high, row) in pairwise(rows):
        if row[-1][i][j] > 1:
            return (low, high) if high - low > NARROW * high else None
    return None


def traced_all() -> dict[str, Any]:
    """Points of every model, GPU and load, by name."""
    return {
        f"{model}, {device}, {demand}": traced(
            pool(model, device),
            demand,
            closely=(model, demand) == (running_example.MODEL, LOADS[0]),
        )
        for model in MODELS
        for device in DEVICES
        for demand in LOADS
    }


def draws() -> list[float]:
    """As it is stored: goodputs of the page's replica in further draws."""
    one = pool(running_example.MODEL, running_example.DEVICE)
    return [float(f"{crossing(one, seed=seed):.4g}") for seed in DRAWS]
