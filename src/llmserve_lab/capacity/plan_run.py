"""The plan beside the engine: random arrivals and lengths, request by request.

A plan is made of means. The engine serves one of its servers' part of the rate, with
prompts and answers that vary, and counts how many keep the promises.
"""

from __future__ import annotations

from llmserve_lab.capacity.group import Group
from llmserve_lab.capacity.level import Kept, ServiceLevel
from llmserve_lab.capacity.triangle import MeanLengths, served
from llmserve_lab.checks import whole
from llmserve_lab.engine import Chunked, Pool

BUDGET, SECONDS = 8192, 60.0  # tokens of a step, vLLM's default on an H100; of arrivals
MORE = 8  # servers that are tried on top


def kept(group: Group, *, servers: int | None = None, seconds: float = SECONDS) -> Kept:
    """What one of so many ``servers`` keeps of the promises, in the simulated engine.

    By default those of the plan; without a rate, one at its largest.

    Raises:
        ValueError: the group breaks its promises even for one request, or a part of
            the prompts is cached, which the requests of a run are not.
    """
    asked, number = group.asked, group.replicas if servers is None else servers
    if group.best is None:
        raise ValueError(
            f"group must keep promises, got TP{group.tp}, which breaks {group.limit}"
        )
    if asked.cached:
        raise ValueError(f"cached must be 0 in a simulation, got {asked.cached:g}")
    whole(servers=number)
    report = served(
        MeanLengths(asked.prompt, asked.answer),
        (asked.rate or group.best.rate) / number,
        Pool(group.cost, Chunked(BUDGET), kv_blocks=group.blocks),
        seconds=seconds,
    )
    return ServiceLevel(asked.ttft_s, asked.tpot_s).kept(report)


def enough(group: Group) -> int | None:
    """Servers with which nine in ten requests keep both promises.

    None where so many :data:`MORE` than the plan's do not suffice.
    """
    numbers = range(group.replicas, group.replicas + MORE + 1)
    return next((n for n in numbers if kept(group, servers=n).good), None)
