"""Which request held which slot, and which blocks, in every iteration of a logged run.

The engine logs when iterations begin and end, and when each request was scheduled, got
its last token and was let go. What is drawn as slots and blocks is read off that log.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from llmserve_lab.engine import Pool, Report, Request
from llmserve_lab.engine.arrivals import OpenLoop
from llmserve_lab.engine.metrics.request_log import Record
from llmserve_lab.engine.replica import Replica
from llmserve_lab.engine.system import System
from llmserve_lab.engine.timing.time_tolerance import earliest, latest


@dataclass(frozen=True, kw_only=True)
class Stay:
    """A request's stay in a slot, in iterations counted from 0.

    It runs from ``first`` until ``done`` (not included) and keeps the slot until
    ``left``: in a static batch that is the end of the batch. ``arrived`` is the
    iteration during which it came.
    """

    id: int
    slot: int
    arrived: int
    first: int
    done: int
    left: int

    @property
    def idle(self) -> int:
        """Iterations in which the slot computed tokens that are thrown away."""
        return self.left - self.done


def stays(report: Report) -> list[Stay]:
    """The stays of all requests, by admission; each takes the lowest free slot.

    Raises:
        ValueError: the run was not logged.
    """
    starts, ends = _iterations(report)
    order = sorted(range(report.num_requests), key=lambda i: _admitted(report, i))
    found: list[Stay] = []
    for i in order:
        first = bisect_left(starts, earliest(report.scheduled_s[i]))
        held = {stay.slot for stay in found if stay.left > first}
        found.append(
            Stay(
                id=int(report.id[i]),
                slot=min(set(range(len(held) + 1)) - held),
                arrived=bisect_right(ends, latest(report.arrival_s[i])),
                first=first,
                done=bisect_right(ends, latest(report.last_token_s[i])),
                left=bisect_right(ends, latest(report.finished_s[i])),
            )
        )
    return found


def _admitted(report: Report, i: int) -> tuple[float, float]:
    return float(report.scheduled_s[i]), float(report.id[i])


def _iterations(report: Report) -> tuple[list[float], list[float]]:
    """When each iteration begins and ends, runs of like ones taken apart."""
    if report.trace is None:
        raise ValueError("report must come from a run with log=True, got no log")
    starts, ends = list[float](), list[float]()
    for step in report.trace:
        if step.count != 1:
            raise ValueError(
                f"report must come from a run with leap=False, got {step.count} "
                "iterations in one step"
            )
        starts.append(step.start_s)
        ends.append(step.end_s)
    return starts, ends


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One iteration of one replica: blocks held by each request, in admission order.

    ``rows`` are the rows that each brought, ``waiting`` the requests in the queue.
    """

    end_s: float
    held: tuple[tuple[int, int], ...]
    rows: dict[int, int]
    waiting: tuple[int, ...]
    free: int


def moments(requests: Sequence[Request], pool: Pool) -> list[Moment]:
    """Serve ``requests`` and note after each iteration's plan who holds which blocks.

    Raises:
        ValueError: the pool has several replicas.
    """
    if pool.replicas != 1:
        raise ValueError(f"replicas must be 1 to watch one, got {pool.replicas}")
    system, found = System(pool, leap=False), list[Moment]()
    system.replicas[0].perform = lambda replica: found.append(_moment(replica))
    system.serve(OpenLoop(requests), Record(), stop=None)
    return found


def _moment(replica: Replica) -> Moment:
    """What a replica holds while it runs an iteration.

    A request in the batch holds blocks for all its tokens, the one that this iteration
    adds included.
    """
    tokens = {s.request.id: context + n for s, n, context in replica.slices()}
    rows = {s.request.id: n for s, n, _ in replica.slices()}
    inside = (*replica.prefilling, *(s for s, _ in replica.decoders.contexts()))
    held = [
        (s.request.id, replica.blocks(max(s.known, tokens.get(s.request.id, 0))))
        for s in sorted(inside, key=lambda each: each.number)
    ]
    queue = tuple(s.request.id for s in replica.waiting)
    return Moment(
        end_s=replica.end_s,
        held=tuple(held),
        rows=rows,
        waiting=queue,
        free=replica.free_blocks,
    )
