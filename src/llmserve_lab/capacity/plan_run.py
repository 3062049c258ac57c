"""The plan beside the engine: random arrivals and lengths, request by request.

A plan is made of means. The engine serves one of its servers' part of the rate, with
prompts and answers that vary, and counts how many keep the promises.
"""

from __future__ import annotations

from llmserve_lab.capacity.group import Group
from llmserve_lab.capacity.level import Kept, ServiceLevel
from llmserve_lab.capacity.triangle import MeanLengths, served
from llmserve_lab.engine import Chunked, Pool

BUDGET, SECONDS = 8192, 60.0  # tokens of a step, vLLM's default on an H100; of arrivals


def kept(group: Group, *, seconds: float = SECONDS, seed: int = 1) -> Kept:
    """What one server of a plan keeps of the promises, in the simulated engine.

    Raises:
        ValueError: the group breaks its promises even for one request, or a part of
            the prompts is cached, which the requests of a run are not.
    """
    asked = group.asked
    if group.planned is None:
        raise ValueError(
            f"group must keep promises, got TP{group.tp}, which breaks {group.limit}"
        )
    if asked.cached:
        raise ValueError(f"cached must be 0 in a simulation, got {asked.cached:g}")
    report = served(
        MeanLengths(asked.prompt, asked.answer),
        group.planned.rate,
        Pool(group.cost, Chunked(BUDGET)),
        seconds=seconds,
        seed=seed,
    )
    return ServiceLevel(asked.ttft_s, asked.tpot_s).kept(report)
