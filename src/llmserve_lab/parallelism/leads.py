"""By how much one layout must be better than another before it leads.

A time between servers is off by a seventh in the mean of the published prompts, one
inside a server by a tenth. Each number here may be off by the larger one, as a factor,
up or down; two layouts tie where what they may be overlaps. A token of a group over
several servers has an error of its own: measured, it took far longer than predicted.
"""

from __future__ import annotations

from llmserve_lab.parallelism.deployments import GpuLayout

MISS = 0.14  # mean error of published prompts that crossed servers
GROUP_MISS = 0.44  # a token of a group over four servers, measured over predicted
TIE = (1 + MISS) ** 2 - 1  # of two numbers that are both off by the mean error
Span = tuple[float, float]


def span(value: float, *, group: bool = False) -> Span:
    """The least and the most that a predicted number may be.

    ``group``: it is the time of a token in a group that spans servers.
    """
    return value / (1 + MISS), value * (1 + (GROUP_MISS if group else MISS))


def leads(one: Span, other: Span, *, long_is_good: bool = False) -> bool:
    """Whether one is better whatever the two are; if neither leads, they tie."""
    low, high = (other, one) if long_is_good else (one, other)
    return low[1] < high[0]


def crosses(layout: GpuLayout) -> bool:
    """Whether rows go from one server to another."""
    far = layout.between is not None and layout.between.scope != "scale-up"
    return far and (layout.servers > 1 or layout.stages > 1)
