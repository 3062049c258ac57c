"""Goodput: the largest rate at which nine in ten requests keep the service level.

Four GPUs and the same requests, three ways: co-located with whole prompts, co-located
with chunked prefill, disaggregated. Each way is served in its variants (a budget of
rows, a split of the pools), and the best of them counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from llmserve_lab.catalog.evidence.disaggregated import ORCHESTRATION_S
from llmserve_lab.disaggregation.capacity_sim import two_pools
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    Disaggregated,
    Pool,
    Report,
    Request,
    simulate,
)
from llmserve_lab.running_example import ANSWER, PROMPT, cost
from llmserve_lab.workloads import Bounded, Geometric, Lognormal, poisson_requests

GPUS, ENOUGH, REQUESTS = 4, 0.9, 500
TTFT_S = 0.5  # the first token that a user is promised
LIMITS_S = (0.01, 0.015, 0.02, 0.03, 0.05)  # and the time of each further one
WHOLE, CHUNKS, POOLS = "whole prompts", "chunks", "two pools"
WAYS = (WHOLE, CHUNKS, POOLS)
BUDGETS, SPLITS = (512, 2048), (1, 2, 3)
KINDS = ("mean gap", "every gap")
HANDS = ("wire alone", "as measured")
MANY = 10**6  # requests in a batch: memory alone bounds it


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
        tuple(float(per_s) for per_s in range(12, 145, 12)),
    ),
    Demand(
        "4,000 in, 200 out",
        4 * PROMPT,
        ANSWER,
        tuple(float(per_s) for per_s in range(3, 37, 3)),
    ),
)
Kept = Mapping[tuple[str, float], float]


def asked(load: Demand, per_s: float, number: int = REQUESTS) -> tuple[Request, ...]:
    """Poisson arrivals, prompts that vary by half their mean, geometric answers."""
    law = Bounded(law=Lognormal(mean=load.prompt, cv=0.5), high=4 * load.prompt)
    found = poisson_requests(
        rate_per_s=per_s,
        prompt=law,
        output=Geometric(load.answer),
        num_requests=number,
        seed=1,
    )
    return tuple(found)


@cache
def variants(way: str, hand: str) -> Mapping[str, Pool | Disaggregated]:
    """The deployments of a way by what they are called."""
    if way == WHOLE:
        return {"whole": Pool(cost(), Continuous(), replicas=GPUS)}
    if way == CHUNKS:
        pools = {b: Pool(cost(), Chunked(b), replicas=GPUS) for b in BUDGETS}
        return {f"{budget:,} rows": pool for budget, pool in pools.items()}
    more_s = float(ORCHESTRATION_S) if hand == HANDS[1] else 0.0
    return {
        f"{x}P:{GPUS - x}D": two_pools(
            n_prefill=x, n_decode=GPUS - x, batch=MANY, orchestration_s=more_s
        )
        for x in SPLITS
    }


def kept(report: Report, *, hop: bool) -> Kept:
    """Share of the requests within the limits, by kind of limit and limit.

    With ``hop`` the decode side emits the first token: it comes with what the engine
    reports as the second, whose gap holds the hand-over and is the longest.
    """
    steps = np.maximum(report.output_len - 1, 1)
    mean_s = (report.last_token_s - report.first_token_s) / steps
    first_s, worst_s = report.ttft_s, report.worst_gap_s
    if hop:
        first_s = first_s + worst_s
        mean_s = (mean_s * steps - worst_s) / np.maximum(steps - 1, 1)
    soon = first_s <= TTFT_S
    times = dict(zip(KINDS, (mean_s, worst_s), strict=True))
    return {
        (kind, limit): float((soon & (times[kind] <= limit * (1 + 1e-9))).mean())
        for kind in KINDS
        for limit in LIMITS_S
    }


@cache
def swept(load: Demand, way: str, hand: str) -> Mapping[str, Sequence[Kept]]:
    """What is kept at each rate of the load, by variant."""
    hop = way == POOLS and hand == HANDS[1]
    return {
        name: [
            kept(simulate(asked(load, rate), deployment), hop=hop)
            for rate in load.rates
        ]
        for name, deployment in variants(way, hand).items()
    }


def rate_kept(rates: Sequence[float], shares: Sequence[float]) -> float:
    """Largest rate up to which enough is kept, on straight lines between the rates.

    Below the first rate the line starts at nothing asked, all kept.
    """
    points = [(0.0, 1.0), *zip(rates, shares, strict=True)]
    for (low, above), (high, below) in pairwise(points):
        if below < ENOUGH:
            return low + (high - low) * (above - ENOUGH) / (above - below)
    return float(rates[-1])


@dataclass(frozen=True)
class Best:
    """The variant that serves most, its goodput, and its share kept at each rate."""

    variant: str
    per_s: float
    shares: tuple[float, ...]


@cache
def best(load: Demand, way: str, *, kind: str, limit_s: float, hand: str) -> Best:
    """The best variant of a way under one promise."""
    if way != POOLS:
        hand = HANDS[0]
    found = []
    for name, rows in swept(load, way, hand).items():
        shares = tuple(row[kind, limit_s] for row in rows)
        found.append(Best(name, rate_kept(load.rates, shares), shares))
    return max(found, key=lambda each: each.per_s)
