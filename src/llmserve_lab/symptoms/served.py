"""A load served by the engine and watched: requests, a deployment, and a dashboard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from llmserve_lab.catalog import Cited
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.continuous_batching.machine import GRAPH_ROWS, priced
from llmserve_lab.engine import (
    Chunked,
    Disaggregated,
    IterationCost,
    Policy,
    Pool,
    Report,
    Request,
    simulate,
)
from llmserve_lab.kv_memory.machine import BLOCK, blocks_with
from llmserve_lab.running_example import ANSWER, PROMPT, cost
from llmserve_lab.symptoms.case import Watchable
from llmserve_lab.symptoms.dashboard import Dashboard, of_report
from llmserve_lab.workloads import (
    Geometric,
    LengthLaw,
    closed_requests,
    poisson_requests,
)

BUDGET, SLOTS = 8192, 1024  # vLLM's defaults on an H100: tokens, requests of a batch
USUAL = Chunked(BUDGET, SLOTS)
ROUNDS = 6  # requests for each client: in fewer, start and end decide the rate
More = Callable[["WatchedRun", Report], Mapping[str, float]]


def nothing_more(served: WatchedRun, report: Report) -> Mapping[str, float]:
    """No metric beyond those of every report."""
    return {}


@dataclass(frozen=True)
class WatchedRun:
    """Requests that arrive by themselves, or are sent by ``clients`` one at a time.

    ``more`` reads what only this kind of run can show; ``before`` is the run that it
    is compared with, where there is one.
    """

    requests: tuple[Request, ...]
    deployment: Pool | Disaggregated
    clients: int | None = None
    more: More = nothing_more
    before: WatchedRun | None = None

    def report(self) -> Report:
        """Run the engine, with a log."""
        return _ran(self.requests, self.deployment, self.clients)

    def observe(self) -> Dashboard:
        """Run the engine; what the dashboard shows."""
        return _observed(self)

    @property
    def pool(self) -> Pool:
        """The one pool.

        Raises:
            TypeError: there are two.
        """
        if not isinstance(self.deployment, Pool):
            raise TypeError(f"deployment must be one pool, got {self.deployment!r}")
        return self.deployment


@cache
def _ran(
    requests: tuple[Request, ...], deployment: Pool | Disaggregated, clients: int | None
) -> Report:
    return simulate(requests, deployment, clients=clients, log=True)


@cache
def _observed(run: WatchedRun) -> Dashboard:
    report = run.report()
    return of_report(report, run.more(run, report))


def slots_of(policy: Policy) -> int:
    """The most requests of an iteration."""
    return int(getattr(policy, "max_batch", 0) or getattr(policy, "batch", 0))


def launched(policy: Policy, machine: IterationCost) -> IterationCost:
    """The machine as this policy launches it, by the rule of continuous batching.

    vLLM records the launches of iterations of few rows, and of at most two rows for
    each slot. Under a token budget within that no prompt has to be launched anew.
    """
    rows = policy.budget if isinstance(policy, Chunked) else GRAPH_ROWS + 1
    if rows > min(GRAPH_ROWS, 2 * slots_of(policy)):
        return machine
    return replace(machine, prompt_s=priced(rows).prompt_s)


def server(policy: Policy = USUAL, *, share: Cited = MEMORY_SHARE, **more: Any) -> Pool:
    """The book's machine as vLLM starts it: one H100, all blocks that are found.

    Each slot takes working space, so that many slots leave fewer blocks.
    """
    found = {"kv_blocks": blocks_with(slots_of(policy), share), "block_tokens": BLOCK}
    return Pool(launched(policy, cost()), policy, **(found | more))


def changed(**pool: Any) -> Callable[[Watchable], Watchable]:
    """The remedy that replaces fields of the pool."""

    def change(setup: Watchable) -> Watchable:
        assert isinstance(setup, WatchedRun)
        return replace(setup, deployment=replace(setup.pool, **pool))

    return change


def restarted(policy: Policy) -> Callable[[Watchable], Watchable]:
    """The remedy that starts the server with another policy.

    What it launches and how many blocks it finds follow from the policy.
    """

    def change(setup: Watchable) -> Watchable:
        assert isinstance(setup, WatchedRun)
        pool = setup.pool
        more = blocks_with(slots_of(policy)) - blocks_with(slots_of(pool.policy))
        started = replace(
            pool,
            policy=policy,
            cost=launched(policy, pool.cost),
            kv_blocks=pool.num_blocks + more,
        )
        return replace(setup, deployment=started)

    return change


def with_share(share: Cited) -> Callable[[Watchable], Watchable]:
    """The remedy that gives the server another share of the GPU's memory."""

    def change(setup: Watchable) -> Watchable:
        assert isinstance(setup, WatchedRun)
        blocks = blocks_with(slots_of(setup.pool.policy), share)
        return replace(setup, deployment=replace(setup.pool, kv_blocks=blocks))

    return change


def with_clients(many: int) -> Callable[[Watchable], Watchable]:
    """The remedy that sends from another number of clients."""

    def change(setup: Watchable) -> Watchable:
        assert isinstance(setup, WatchedRun)
        return replace(setup, clients=many)

    return change


@cache
def poisson(
    *,
    rate_per_s: float,
    many: int,
    seed: int,
    prompt: LengthLaw | None = None,
    answer: LengthLaw | None = None,
) -> tuple[Request, ...]:
    """Poisson arrivals of the book's usual request, lengths geometric."""
    return tuple(
        poisson_requests(
            rate_per_s=rate_per_s,
            prompt=prompt or Geometric(PROMPT),
            output=answer or Geometric(ANSWER),
            num_requests=many,
            seed=seed,
        )
    )


@cache
def backlog(
    *,
    many: int,
    seed: int,
    prompt: LengthLaw | None = None,
    answer: LengthLaw | None = None,
) -> tuple[Request, ...]:
    """What the clients of a closed loop send."""
    return tuple(
        closed_requests(
            prompt=prompt or Geometric(PROMPT),
            output=answer or Geometric(ANSWER),
            num_requests=many,
            seed=seed,
        )
    )
