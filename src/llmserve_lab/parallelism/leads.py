"""How far off a predicted time may be, by the kind of layout, and what leads what.

Each kind has the range of its own measured times over the predicted ones. The ranges
have a sign: nearly all measured times are longer. A pipeline was never measured; it has
the range of the groups that its stages are, and a picture has to say so. Two layouts
tie where their ranges overlap.
"""

from __future__ import annotations

from llmserve_lab.parallelism.deployments import GpuLayout

Span = tuple[float, float]
SERVER_TOKEN: Span = (1.02, 1.27)  # decode of groups in a server, nothing waiting
TWO_SERVERS = 1.06  # what a group over two servers gains less than predicted
GROUP_PROMPT: Span = (0.87, 1.08)  # prompts read by a group, on one to four servers
RING_PROMPT: Span = (1.08, 1.53)  # prompts read by a ring of servers


def token_span(value: float, layout: GpuLayout) -> Span:
    """The least and the most that a time from token to token may be."""
    more = TWO_SERVERS if layout.servers > 1 else 1.0
    low, high = SERVER_TOKEN
    return value * more * low, value * more * high


def prompt_span(value: float, *, ring: bool = False) -> Span:
    """The least and the most that the time of a prompt may be."""
    low, high = RING_PROMPT if ring else GROUP_PROMPT
    return value * low, value * high


def rate_span(value: float) -> Span:
    """The least and the most that a rate of prompt tokens may be."""
    low, high = GROUP_PROMPT
    return value / high, value / low


def leads(one: Span, other: Span, *, more_is_good: bool = False) -> bool:
    """Whether one is better whatever the two are; if neither leads, they tie."""
    low, high = (other, one) if more_is_good else (one, other)
    return low[1] < high[0]


def crosses(layout: GpuLayout) -> bool:
    """Whether rows go from one server to another."""
    far = layout.between is not None and layout.between.scope != "scale-up"
    return far and (layout.servers > 1 or layout.stages > 1)
