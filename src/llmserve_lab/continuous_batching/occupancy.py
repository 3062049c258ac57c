"""Which request held which slot, and which blocks, in each iteration of a logged run.

The engine decides and logs; here is only read off what the chapter's pictures show.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from llmserve_lab.engine import Policy, Pool, Report, Request, simulate
from llmserve_lab.engine.metrics.iteration_log import IterationFrame
from llmserve_lab.engine.timing.cost import IterationCost


def logged(
    requests: Sequence[Request],
    policy: Policy,
    cost: IterationCost,
    *,
    kv_blocks: int | None = None,
) -> Report:
    """Serve ``requests`` on one replica, every iteration logged by itself."""
    pool = Pool(cost, policy, kv_blocks=kv_blocks)
    return simulate(requests, pool, log=True, leap=False)


def frames(report: Report) -> list[IterationFrame]:
    """The iterations of a logged run.

    Raises:
        ValueError: the run was not logged, or its iterations were leapt over.
    """
    if report.log is None:
        raise ValueError("report must come from a run with log=True, got no log")
    return report.log.frames()


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
    """The stays of all requests, by admission; each takes the lowest free slot."""
    run = frames(report)
    ends = [frame.end_s for frame in run]
    found: list[Stay] = []
    for number in _by_admission(run):
        (at,) = (i for i in range(report.num_requests) if report.id[i] == number)
        rows = [i for i, frame in enumerate(run) if number in _running(frame)]
        held = {stay.slot for stay in found if stay.left > rows[0]}
        found.append(
            Stay(
                id=number,
                slot=min(set(range(len(held) + 1)) - held),
                arrived=bisect_right(ends, float(report.arrival_s[at])),
                first=rows[0],
                done=rows[-1] + 1,
                left=1 + ends.index(report.finished_s[at]),
            )
        )
    return found


def _running(frame: IterationFrame) -> set[int]:
    return {part.id for part in frame.running}


def _by_admission(run: Sequence[IterationFrame]) -> list[int]:
    """Ids in the order in which the requests first ran."""
    return list(dict.fromkeys(part.id for frame in run for part in frame.running))


def held_blocks(frame: IterationFrame, block_tokens: int = 16) -> dict[int, int]:
    """Blocks of each running request: room for all its tokens, this iteration's too.

    They add up to the blocks that the engine says are used.
    """
    return {
        part.id: -(-(part.context + part.rows) // block_tokens)
        for part in frame.running
    }
