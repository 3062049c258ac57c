"""Both schedulers under a growing rate of arrivals, until each can take no more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.schedules import StaticSkipping
from llmserve_lab.continuous_batching.workloads import crowd
from llmserve_lab.engine import Continuous, Policy, Pool, Report, Static, simulate
from llmserve_lab.running_example import ANSWER, cost

SLOTS = 32
MOST_DRAWN = 10_000  # slots, and batches, of which each answer is drawn
RATES = (1.0, 2.0, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 11.0, 12.0, 14.0, 16.0)
REQUESTS = 4000  # enough that the first and the last of them do not matter


def policies(slots: int = SLOTS) -> dict[str, Policy]:
    """The two schedulers by name."""
    return {"static": Static(slots), "continuous": Continuous(slots)}


@dataclass(frozen=True)
class RatePoint:
    """What a scheduler makes of a rate of arrivals."""

    per_s: float
    tokens_per_s: float


@cache
def served(name: str, per_s: float, slots: int = SLOTS) -> Report:
    """The crowd at a rate, under one of the schedulers."""
    return simulate(
        crowd(per_s=per_s, num_requests=REQUESTS), Pool(cost(), policies(slots)[name])
    )


def points(
    rates: tuple[float, ...] = RATES, slots: int = SLOTS
) -> dict[str, list[RatePoint]]:
    """Throughput of both schedulers at each rate."""
    return {
        name: [_point(rate, served(name, rate, slots)) for rate in rates]
        for name in policies()
    }


def _point(rate: float, run: Report) -> RatePoint:
    return RatePoint(rate, run.throughput_tokens_per_s)


def saturation(name: str, slots: int = SLOTS) -> float:
    """Output tokens per second where requests never cease to wait."""
    return served(name, 1e6, slots).throughput_tokens_per_s


@cache
def skipping(slots: int = SLOTS) -> Report:
    """The saturated static server that computes no row of a complete answer."""
    asked = crowd(per_s=1e6, num_requests=REQUESTS)
    return simulate(asked, Pool(cost(), StaticSkipping(slots)))


def causes(slots: int = SLOTS) -> dict[str, float]:
    """Output tokens per second, saturated: static, wasted rows skipped, refilled."""
    return {
        "static": saturation("static", slots),
        "static, wasted rows skipped": skipping(slots).throughput_tokens_per_s,
        "slots refilled at once": saturation("continuous", slots),
    }


def iteration_s(run: Report) -> float:
    """Mean time of an iteration in a run that is never idle."""
    return float(run.elapsed_s / run.iterations)


def factor(slots: int) -> float:
    """What continuous batching delivers over static batching, both saturated."""
    return saturation("continuous", slots) / saturation("static", slots)


def queue(name: str, per_s: float, until_s: float) -> tuple[list[float], list[int]]:
    """Requests that wait for their first iteration, at each moment of a run."""
    run = served(name, per_s)
    starts = np.sort(run.arrival_s + run.queue_s)
    times = np.linspace(0.0, until_s, 200)
    came = np.searchsorted(np.sort(run.arrival_s), times, side="right")
    began = np.searchsorted(starts, times, side="right")
    return times.tolist(), (came - began).tolist()


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
