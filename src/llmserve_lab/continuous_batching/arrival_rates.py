"""Both schedulers under a growing rate of arrivals, until each can take no more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.workloads import crowd
from llmserve_lab.engine import Continuous, Policy, Pool, Report, Static, simulate
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, cost
from llmserve_lab.workloads import faster

SLOTS = 32
MOST_DRAWN = 10_000  # slots, and batches, of which each answer is drawn
RATES = (1.0, 2.0, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 11.0, 12.0, 14.0, 16.0)
REQUESTS = 4000  # enough that the first and the last of them do not matter
CLIENTS, CLIENTS_RATE = 8, 3.0  # as many slots; the rate only orders the requests


def policies(slots: int = SLOTS) -> dict[str, Policy]:
    """The two schedulers by name."""
    return {"static": Static(slots), "continuous": Continuous(slots)}


@dataclass(frozen=True)
class RatePoint:
    """What a scheduler makes of a rate of arrivals."""

    per_s: float
    tokens_per_s: float
    ttft_s: float


@cache
def served(name: str, per_s: float, slots: int = SLOTS) -> Report:
    """The crowd at a rate, under one of the schedulers."""
    return simulate(
        crowd(per_s=per_s, num_requests=REQUESTS), Pool(cost(), policies(slots)[name])
    )


def points(
    rates: tuple[float, ...] = RATES, slots: int = SLOTS
) -> dict[str, list[RatePoint]]:
    """Throughput and median TTFT of both schedulers at each rate."""
    return {
        name: [_point(rate, served(name, rate, slots)) for rate in rates]
        for name in policies()
    }


def _point(rate: float, run: Report) -> RatePoint:
    return RatePoint(rate, run.throughput_tokens_per_s, run.percentile("ttft", 50))


def saturation(name: str, slots: int = SLOTS) -> float:
    """Output tokens per second where requests never cease to wait."""
    return served(name, 1e6, slots).throughput_tokens_per_s


def factor(slots: int) -> float:
    """What continuous batching delivers over static batching, both saturated."""
    return saturation("continuous", slots) / saturation("static", slots)


def asked_per_s(per_s: float) -> float:
    """Output tokens per second that the crowd at a rate asks for, as drawn."""
    asked = crowd(per_s=per_s, num_requests=REQUESTS)
    return sum(request.output_len for request in asked) / asked[-1].arrival_s


def idle_of_geometric(
    batch: int, *, mean: float = ANSWER, num_batches: int = 500
) -> float:
    """Share of slots that stay idle in static batches of geometric answers."""
    whole(of="request", most=MOST_DRAWN, batch=batch, num_batches=num_batches)
    answers = np.random.default_rng(0).geometric(1 / mean, (num_batches, batch))
    longest = answers.max(axis=1).mean()
    return float(f.IDLE_SLOTS(mean_answer=answers.mean(), longest_answer=longest))


@cache
def loops(num_requests: int = 400) -> dict[str, Report]:
    """As many clients as slots; then the same requests, as many per second, arrive."""
    asked = crowd(per_s=CLIENTS_RATE, num_requests=num_requests)
    pool = Pool(cost(), Continuous(CLIENTS))
    closed = simulate(asked, pool, clients=CLIENTS)
    sooner = asked[-1].arrival_s / closed.elapsed_s
    runs = {f"{CLIENTS} clients that wait": closed}
    for share in (0.7, 1.0):
        arrived = faster(asked, times=sooner * share)
        runs[f"a crowd, {share:.0%} of their rate"] = simulate(arrived, pool)
    return runs


def loops_table() -> Table:
    """Table of the mean TTFT in its two parts, by the kind of clients."""
    rows = [
        (
            name,
            si(run.queue_s.mean(), "s"),
            si((run.ttft_s - run.queue_s).mean(), "s"),
            si(run.ttft_s.mean(), "s"),
            si(run.percentile("ttft", 99), "s"),
        )
        for name, run in loops().items()
    ]
    parts = ("in the queue", "prefill", "TTFT, mean", "TTFT, p99")
    return Table(f"The same requests in {CLIENTS} slots", ("sent by", *parts), rows)
