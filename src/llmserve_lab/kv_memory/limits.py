"""How many requests a server of the running example may run at a time."""

from __future__ import annotations

from functools import cache

from llmserve_lab.engine import Chunked, Pool, Request, simulate
from llmserve_lab.kv_memory.machine import (
    BLOCK,
    GRAPHS,
    SHARE_NOW,
    blocks_with,
    slots_that_fit,
)
from llmserve_lab.kv_memory.serving import BUDGET
from llmserve_lab.kv_memory.waste import SERVICES, lives, wasted
from llmserve_lab.running_example import cost

MARGIN = 0.1  # of the requests that fit at their mean length


def mean_paged() -> float:
    """Tokens that a request of the chat service takes, its last block not full."""
    return wasted(SERVICES[0]).paged[BLOCK]


def at_mean() -> int:
    """Slots of ``vllm serve`` with its defaults that fit at the mean length."""
    return slots_that_fit(mean_paged(), SHARE_NOW, GRAPHS)


def with_margin() -> int:
    """The same, less a margin for the moments when many requests are long."""
    return int((1 - MARGIN) * at_mean())


@cache
def backlog(slots: int) -> tuple[int, float]:
    """Preempted requests and longest pause, if all of the service's wait at once."""
    requests = [
        Request(arrival_s=0.0, prompt_len=prompt, output_len=answer, id=number)
        for number, (prompt, answer) in enumerate(lives(SERVICES[0]))
    ]
    pool = Pool(
        cost(),
        Chunked(BUDGET, slots),
        kv_blocks=blocks_with(slots, SHARE_NOW, GRAPHS),
        block_tokens=BLOCK,
    )
    report = simulate(requests, pool)
    stopped = int((report.preemptions > 0).sum())
    return stopped, float(report.worst_gap_s.max())
