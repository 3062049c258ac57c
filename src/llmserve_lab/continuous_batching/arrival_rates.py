"""Both schedulers under a growing rate of arrivals, until each can take no more."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.checks import at_least, whole
from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.schedules import StaticSkipping
from llmserve_lab.continuous_batching.workloads import crowd
from llmserve_lab.engine import Continuous, Policy, Pool, Report, Static, simulate
from llmserve_lab.running_example import ANSWER, cost

SLOTS = 32
MOST_DRAWN = 10_000  # slots, and batches, of which each answer is drawn
NEVER_CEASE_PER_S = 1e6  # requests arrive so quickly that some always wait
RATES = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 14.0)  # requests per second
REQUESTS = 4000  # of 32 slots the first and the last of them hardly matter


def policies(slots: int = SLOTS) -> dict[str, Policy]:
    """The two schedulers by name."""
    return {"static": Static(slots), "continuous": Continuous(slots)}


@cache
def served(name: str, per_s: float, slots: int = SLOTS) -> Report:
    """The crowd at a rate, under one of the schedulers."""
    return _served(per_s, policies(slots)[name])


def _served(per_s: float, policy: Policy) -> Report:
    asked = crowd(per_s=per_s, num_requests=REQUESTS)
    return simulate(asked, Pool(cost(), policy))


def saturation(name: str, slots: int = SLOTS) -> float:
    """Output tokens per second where requests never cease to wait."""
    return served(name, NEVER_CEASE_PER_S, slots).throughput_tokens_per_s


@cache
def skipping(slots: int = SLOTS) -> Report:
    """The saturated static server that computes no row of a complete answer."""
    return _served(NEVER_CEASE_PER_S, StaticSkipping(slots))


def causes(slots: int = SLOTS) -> dict[str, float]:
    """Output tokens per second, saturated: static, wasted rows skipped, refilled."""
    return {
        "static": saturation("static", slots),
        "static, wasted rows skipped": skipping(slots).throughput_tokens_per_s,
        "continuous: slots refilled, too": saturation("continuous", slots),
    }


def iteration_s(run: Report) -> float:
    """Mean time of an iteration in a run that is never idle."""
    return float(run.elapsed_s / run.iterations)


def sweep(name: str) -> tuple[float, ...]:
    """Output tokens per second under one of the schedulers at each of ``RATES``."""
    return tuple(served(name, per_s).throughput_tokens_per_s for per_s in RATES)


def idle_of_geometric(
    batch: int, *, mean: float = ANSWER, num_batches: int = 500
) -> float:
    """Share of slots that stay idle in static batches of geometric answers."""
    whole(of="request", most=MOST_DRAWN, batch=batch, num_batches=num_batches)
    at_least("mean", mean, 1)
    answers = np.random.default_rng(0).geometric(1 / mean, (num_batches, batch))
    longest = answers.max(axis=1).mean()
    return float(f.IDLE_SLOTS(mean_answer=answers.mean(), longest_answer=longest))


def first_late(name: str = "static") -> float:
    """The first drawn rate at which a scheduler cannot deliver what is asked for."""
    most = saturation(name)
    return next(per_s for per_s in RATES if per_s * ANSWER > most)
