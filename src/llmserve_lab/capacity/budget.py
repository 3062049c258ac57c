"""A smaller token budget: what it would change of the page's goodputs and its plan.

Iterations without a prompt replay their launches under either budget and cost the same.
Those with a prompt have few enough rows to replay them under the smaller budget alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil

from llmserve_lab import running_example
from llmserve_lab.capacity import day
from llmserve_lab.capacity.level import Kept
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.runs import most_of_the_trace
from llmserve_lab.capacity.sweep import LONG_S, crossing
from llmserve_lab.capacity.triangle import LEVEL, LOADS, served
from llmserve_lab.capacity.triangle import ROWS as PAGE_ROWS
from llmserve_lab.continuous_batching.machine import GRAPH_ROWS, priced
from llmserve_lab.continuous_batching.tuning import saturated
from llmserve_lab.engine import Chunked, IterationCost, Pool

ROWS = GRAPH_ROWS
CAPS = (40, 48, 56, 60, 64, 96)  # requests that run at most


def pool_of(cost: IterationCost) -> Pool:
    """The page's replica under the smaller budget."""
    return Pool(cost, Chunked(ROWS))


def with_slots(
    per_s: float, slots: int, *, seconds: float = LONG_S, seed: int = 1
) -> Kept:
    """What the page's budget keeps of a rate with so many requests running at most."""
    one = Pool(running_example.cost(), Chunked(PAGE_ROWS, slots))
    return LEVEL.kept(served(LOADS[0], per_s, one, seconds=seconds, seed=seed))


def usual_goodput(cost: IterationCost) -> float:
    """Goodput of the usual load under the smaller budget."""
    return round(crossing(pool_of(cost)), 1)


def compared() -> dict[str, float]:
    """As it is stored: goodputs under the smaller budget."""
    return {
        "usual_per_s": usual_goodput(priced(ROWS)),
        "not_replayed_per_s": usual_goodput(running_example.cost()),
        "hour_per_s": round(most_of_the_trace(one=pool_of(priced(ROWS))), 2),
    }


@dataclass(frozen=True)
class SmallBudget:
    """Goodputs with 512 tokens an iteration, and what the plan makes of them."""

    usual_per_s: float
    not_replayed_per_s: float
    hour_per_s: float

    def replicas(self, factor: float) -> int:
        """Those for the day's peak and a spare, if the engine is too fast by this."""
        return ceil(day.HIGHEST * factor / self.hour_per_s) + 1


@cache
def small_budget() -> SmallBudget:
    """The stored goodputs."""
    return SmallBudget(**recorded()["budget"])


def whole_run_per_s(rows: int, slots: int) -> float:
    """Requests per second of a long queue, its end with empty slots counted, too."""
    return saturated(rows, seqs=slots) / running_example.ANSWER
