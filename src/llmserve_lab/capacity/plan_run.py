"""The plan beside the engine: random arrivals and lengths, request by request.

A plan is made of means. The engine serves one of its servers' part of the rate, with
prompts and answers that vary, and counts how many keep the promises. Where it takes
more servers than the means say, the larger number decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llmserve_lab.capacity.group import Group
from llmserve_lab.capacity.level import Kept, ServiceLevel
from llmserve_lab.capacity.plan import SizingPlan
from llmserve_lab.capacity.plan_text import counted, wrapped
from llmserve_lab.capacity.triangle import MeanLengths, served
from llmserve_lab.checks import whole
from llmserve_lab.engine import Chunked, Pool

BUDGET = 8192  # tokens of a step, vLLM's default on an H100
SECONDS = 300.0  # of arrivals
MORE = 8  # servers that are tried on top
SIMULATED = "Simulated, arrivals and lengths at random"


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


@dataclass(frozen=True)
class Simulated:
    """So many servers of a size, and what they keep of the promises."""

    group: Group
    servers: int
    kept: Kept

    @property
    def gpus(self) -> int:
        """GPUs of all servers."""
        return self.group.tp * self.servers


def tries(group: Group) -> Iterator[Simulated]:
    """The plan's servers, then one more each time, up to :data:`MORE` more."""
    for number in range(group.replicas, group.replicas + MORE + 1):
        yield Simulated(group, number, kept(group, servers=number))


def enough(group: Group) -> Simulated | None:
    """Servers with which nine in ten requests keep both promises.

    None where so many :data:`MORE` than the plan's do not suffice.
    """
    return next((each for each in tries(group) if each.kept.good), None)


def decided(found: SizingPlan) -> Simulated | None:
    """The size of group and the servers that the simulation chooses: fewest GPUs.

    Of equals the one that keeps the promises for more requests; None where none does.
    """
    able = [enough(group) for group in found.groups if group.best is not None]
    return min(
        (each for each in able if each is not None),
        key=lambda each: (each.gpus, -each.kept.both),
        default=None,
    )


def decision(found: SizingPlan) -> str:
    """What the simulation makes of the plan, and the choice, in a few lines.

    Raises:
        ValueError: no size keeps the promises, or a part of the prompts is cached.
    """
    group = found.choice
    if group is None:
        raise ValueError("found must hold a size that keeps the promises, got none")
    share = f"{kept(group).both:.0%} of the requests keep both promises"
    servers = _servers(found, group, group.replicas)
    first = wrapped(f"{SIMULATED}: {share} with {servers}.")
    if not found.asked.rate:
        return first
    chosen = decided(found)
    if chosen is None:
        return f"{first}\nNo choice: {MORE} servers more do not suffice either."
    best = f"{chosen.kept.both:.0%}"
    servers = _servers(found, chosen.group, chosen.servers)
    return f"{first}\n{wrapped(f'Choice: {servers}, with which {best} do.')}"


def _servers(found: SizingPlan, group: Group, number: int) -> str:
    return f"{counted(number)} of {group.tp} {found.gpu.name}"
