"""Goodput: the largest rate at which nine in ten requests keep the service level.

Four GPUs and the same requests: co-located with three token budgets of an iteration,
and disaggregated. Two pools are simulated in their splits, and the best of them counts.
A GPU that prefills has the large budget, so that it reads waiting prompts together.

An engine records the launches of steps of up to 512 rows and replays them. What that
saves beside a prompt was not measured, so a small budget is simulated with none, a
part, and all of the extra launches that a step with a prompt pays.

A goodput is a rate that lasts. Each run warms up, counts the requests of many answers'
time, and goes on while the last of them are answered. That takes minutes for all of
them, so they are stored: ``python -m llmserve_lab.disaggregation`` writes the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from llmserve_lab.catalog.evidence.disaggregated import ORCHESTRATION_S
from llmserve_lab.checks import key_of
from llmserve_lab.disaggregation.capacity_sim import two_pools
from llmserve_lab.disaggregation.record import recorded
from llmserve_lab.engine import (
    Chunked,
    Disaggregated,
    IterationCost,
    Pool,
    Report,
    Request,
    simulate,
)
from llmserve_lab.running_example import ANSWER, PROMPT, cost
from llmserve_lab.workloads import Bounded, Geometric, Lognormal, poisson_requests

GPUS, ENOUGH = 4, 0.9
TTFT_S = 0.5  # the first token that a user is promised
LIMITS_S = (0.01, 0.015, 0.02, 0.03, 0.05)  # and the time of each further one
WARM_S, COUNTED_S, AFTER_S = 30.0, 150.0, 20.0  # the slowest answer lasts 10 s
BUDGETS, SPLITS = (8192, 2048, 512), (1, 2, 3)
DEFAULT = BUDGETS[0]  # of vLLM's server on an H100: prompts of 1,000 are read whole
SIZES = ("large", "middle", "small")
ONES = tuple(f"{s} budget, {b:,}" for s, b in zip(SIZES, BUDGETS, strict=True))
WHOLE, MIDDLE, CHUNKS = ONES
EXTRAS = (0.0, 0.25, 0.5, 1.0)  # of a prompt's extra launches, in a recorded step
SMALLS = (CHUNKS, *(f"{CHUNKS}, {share:.0%} of the extra" for share in EXTRAS[1:]))
LAUNCHED = SMALLS[-1]  # nothing is replayed: each step with a prompt pays in full
POOLS = "two pools"
WAYS = (WHOLE, MIDDLE, *SMALLS, POOLS)
SHOWN = (WHOLE, CHUNKS, POOLS)  # on the page: the middle budget is as the large
KINDS = ("mean gap", "every gap")
HANDS = ("wire alone", "wire and 168 ms")
MANY = 10**6  # requests in a batch: memory alone bounds it
NARROW = 0.05  # the knee is found when its rates are this close to each other
HOPELESS = 0.02  # share kept under which a higher rate need not be tried


@dataclass(frozen=True)
class Demand:
    """Mean lengths of prompt and answer, and the rates at which requests arrive."""

    name: str
    prompt: int
    answer: int
    rates: tuple[float, ...]


LOADS = (
    Demand(
        "1,000 in, 200 out",
        PROMPT,
        ANSWER,
        tuple(float(per_s) for per_s in range(10, 101, 10)),
    ),
    Demand(
        "4,000 in, 200 out",
        4 * PROMPT,
        ANSWER,
        tuple(float(per_s) for per_s in range(3, 31, 3)),
    ),
)
Kept = Mapping[tuple[str, float], float]
Points = Mapping[float, Kept]


def asked(
    load: Demand, per_s: float, seconds: float = WARM_S + COUNTED_S + AFTER_S
) -> tuple[Request, ...]:
    """Poisson arrivals, prompts that vary by half their mean, geometric answers."""
    law = Bounded(law=Lognormal(mean=load.prompt, cv=0.5), high=4 * load.prompt)
    found = poisson_requests(
        rate_per_s=per_s,
        prompt=law,
        output=Geometric(load.answer),
        num_requests=round(per_s * seconds),
        seed=1,
    )
    return tuple(found)


def replayed(machine: IterationCost, share: float = 0.0) -> IterationCost:
    """The machine if a step with a prompt paid only a share of its extra launches."""
    return replace(machine, prompt_s=share * machine.prompt_s)


@cache
def variants(way: str, hand: str) -> Mapping[str, Pool | Disaggregated]:
    """The deployments of a way by what they are called."""
    if way in SMALLS:
        share, budget = EXTRAS[SMALLS.index(way)], BUDGETS[-1]
        engine = Pool(replayed(cost(), share), Chunked(budget), replicas=GPUS)
        return {f"{budget}, {share:g}": engine}
    if way != POOLS:
        budget = BUDGETS[ONES.index(way)]
        return {f"{budget:,}": Pool(cost(), Chunked(budget), replicas=GPUS)}
    pulled = hand == HANDS[1]  # NixlConnector: orchestration of other GPUs, borrowed
    more_s = float(ORCHESTRATION_S) if pulled else 0.0
    return {
        f"{x}P:{GPUS - x}D": two_pools(
            n_prefill=x,
            n_decode=GPUS - x,
            batch=MANY,
            budget=DEFAULT,
            orchestration_s=more_s,
            bounded=True,
            streamed=not pulled,
        )
        for x in SPLITS
    }


def kept(report: Report, *, hop: bool, counted_s: float = COUNTED_S) -> Kept:
    """Share of the counted requests within the limits, by kind of limit and limit.

    With ``hop`` the decode side emits the first token: it comes with what the simulator
    reports as the second, whose gap holds the hand-over and is the longest.
    """
    steps = np.maximum(report.output_len - 1, 1)
    mean_s = (report.last_token_s - report.first_token_s) / steps
    first_s, worst_s = report.ttft_s, report.worst_gap_s
    arrived_s = report.first_token_s - report.ttft_s
    if hop:
        first_s = first_s + worst_s
        mean_s = (mean_s * steps - worst_s) / np.maximum(steps - 1, 1)
    counted = (arrived_s >= WARM_S) & (arrived_s < WARM_S + counted_s)
    soon = first_s <= TTFT_S
    times = dict(zip(KINDS, (mean_s, worst_s), strict=True))
    return {
        (kind, limit): float(
            (soon & (times[kind] <= limit * (1 + 1e-9)))[counted].mean()
        )
        for kind in KINDS
        for limit in LIMITS_S
    }


def simulated(
    load: Demand, name: str, hand: str, per_s: float, *, counted_s: float = COUNTED_S
) -> Kept:
    """What a variant keeps at one rate, counted for so long."""
    way = next(way for way in WAYS if name in variants(way, hand))
    requests = asked(load, per_s, WARM_S + counted_s + AFTER_S)
    hop = way == POOLS and hand == HANDS[1]
    report = simulate(requests, variants(way, hand)[name])
    return kept(report, hop=hop, counted_s=counted_s)


def swept(load: Demand, name: str, hand: str) -> dict[float, Kept]:
    """What a variant keeps at the rates of the load, and close to where it gives in."""
    points: dict[float, Kept] = {}
    for rate in load.rates:
        points[rate] = simulated(load, name, hand, rate)
        if max(points[rate].values()) < HOPELESS:
            break
    for limit in LIMITS_S:
        while wide := _knee(points, (KINDS[0], limit)):
            middle = round(sum(wide) / 2, 2)
            points[middle] = simulated(load, name, hand, middle)
    return dict(sorted(points.items()))


def _knee(points: Points, key: tuple[str, float]) -> tuple[float, float] | None:
    """The rates between which too few are kept, if these are still far apart."""
    low = 0.0
    for high in sorted(points):
        if points[high][key] < ENOUGH:
            return (low, high) if low and high - low > NARROW * high else None
        low = high
    return None


def simulated_all() -> dict[str, Any]:
    """Shares kept, in ten-thousandths, by load, variant and hand-over, and rate."""
    found: dict[str, Any] = {}
    for load in LOADS:
        for way in WAYS:
            for hand in HANDS if way == POOLS else HANDS[:1]:
                for name in variants(way, hand):
                    rows = {
                        f"{rate:g}": [round(1e4 * share) for share in shares.values()]
                        for rate, shares in swept(load, name, hand).items()
                    }
                    found.setdefault(load.name, {})[f"{name}, {hand}"] = rows
    return found


@cache
def points(load: Demand, name: str, hand: str) -> Points:
    """What a variant kept, by rate, as recorded."""
    keys = [(kind, limit) for kind in KINDS for limit in LIMITS_S]
    rows = recorded()["goodput"][load.name][f"{name}, {hand}"]
    return {
        float(rate): dict(zip(keys, (s / 1e4 for s in shares), strict=True))
        for rate, shares in rows.items()
    }


def rate_kept(
    rates: Sequence[float], shares: Sequence[float], enough: float = ENOUGH
) -> float:
    """Largest rate up to which enough is kept, on straight lines between the rates.

    Below the first rate the line starts at nothing asked, all kept.

    Raises:
        ValueError: there is not one share for each rate, or more than all is asked.
    """
    if not 0 <= enough <= 1:
        raise ValueError(f"enough must be in [0, 1], got {enough}")
    if len(rates) != len(shares):
        raise ValueError(
            f"shares must be as many as rates, {len(rates)}, got {len(shares)}"
        )
    line = [(0.0, 1.0), *zip(rates, shares, strict=True)]
    for (low, above), (high, below) in pairwise(line):
        if below < enough:
            return low + (high - low) * (above - enough) / (above - below)
    return float(rates[-1])


@dataclass(frozen=True)
class Best:
    """The variant that serves most, its goodput, and its share kept at each rate."""

    variant: str
    per_s: float
    rates: tuple[float, ...]
    shares: tuple[float, ...]


@cache
def best(load: Demand, way: str, *, kind: str, limit_s: float, hand: str) -> Best:
    """The best variant of a way under one promise."""
    key_of("way", way, WAYS)
    key_of("limit_s", limit_s, LIMITS_S)
    if way != POOLS:
        hand = HANDS[0]
    found = []
    for name in variants(way, hand):
        rows = points(load, name, hand)
        shares = tuple(row[kind, limit_s] for row in rows.values())
        per_s = rate_kept(tuple(rows), shares)
        found.append(Best(name, per_s, tuple(rows), shares))
    return max(found, key=lambda each: each.per_s)


def served_best(way: str, limit_s: float, hand: str, load: Demand = LOADS[0]) -> Best:
    """Best variant of a way under a promise on the mean gap."""
    return best(load, way, kind=KINDS[0], limit_s=limit_s, hand=hand)
