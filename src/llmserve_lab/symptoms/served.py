"""A load served by the engine and watched: requests, a deployment, and a dashboard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from llmserve_lab.engine import (
    Chunked,
    Disaggregated,
    Policy,
    Pool,
    Report,
    Request,
    simulate,
)
from llmserve_lab.kv_memory.machine import BLOCK, num_blocks
from llmserve_lab.running_example import ANSWER, PROMPT, cost
from llmserve_lab.symptoms.case import Watchable
from llmserve_lab.symptoms.dashboard import Dashboard, of_report
from llmserve_lab.workloads import (
    Geometric,
    LengthLaw,
    closed_requests,
    poisson_requests,
)

BUDGET, SEATS = 8192, 1024  # vLLM's defaults on an H100: tokens, requests of a batch
USUAL = Chunked(BUDGET, SEATS)
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


def server(policy: Policy = USUAL, **more: Any) -> Pool:
    """The book's machine as vLLM starts it: one H100, all blocks that are found."""
    return Pool(
        cost(), policy, **({"kv_blocks": num_blocks(), "block_tokens": BLOCK} | more)
    )


def changed(**pool: Any) -> Callable[[Watchable], Watchable]:
    """The remedy that replaces fields of the pool."""

    def change(setup: Watchable) -> Watchable:
        assert isinstance(setup, WatchedRun)
        return replace(setup, deployment=replace(setup.pool, **pool))

    return change


def with_clients(many: int) -> Callable[[Watchable], Watchable]:
    """The remedy that sends from another number of clients."""

    def change(setup: Watchable) -> Watchable:
        assert isinstance(setup, WatchedRun)
        return replace(setup, clients=many)

    return change


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
