"""How far off a predicted time may be, and by how much one layout must lead another.

The chapter prints what the model says. Measured times were longer, each kind by its
own factors; between two layouts only the *ratio* of two factors counts. It was at most
``PAIR`` for groups in a server, and one over two servers was later by ``TWO_SERVERS``
again. So times less than a fifth apart are close, and what is close is no lead.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.parallelism.deployments import GpuLayout

Span = tuple[float, float]
SERVER_TOKEN: Span = (1.02, 1.27)  # decode of groups in a server, nothing waiting
PAIR = 1.14  # how far off the ratio of two groups in a server was, at one load
TWO_SERVERS = 1.06  # what a group over two servers gains less than predicted
PROMPT: Span = (1.06, 1.08)  # prompts of groups in one server or two, a ring of two
PIPELINE: Span = (1.00, 1.03)  # prompts of pipelines, by their own time in one stage
CLOSE = 1.2


@dataclass(frozen=True)
class TimeRange:
    """A predicted time, and what it may be by the factors that were measured."""

    bare: float  # the model's own
    span: Span


def close(one: float, other: float) -> bool:
    """Whether two predicted times are less than a fifth apart."""
    return max(one, other) < CLOSE * min(one, other)


def token_range(seconds: float, layout: GpuLayout) -> TimeRange:
    """A time from token to token; of pipelines that of the groups they consist of."""
    more = TWO_SERVERS if layout.servers > 1 else 1.0
    low, high = (seconds * more * each for each in SERVER_TOKEN)
    return TimeRange(seconds, (low, high))


def prompt_range(seconds: float) -> TimeRange:
    """The time of a prompt in one server or two."""
    low, high = PROMPT
    return TimeRange(seconds, (seconds * low, seconds * high))


def crosses(layout: GpuLayout) -> bool:
    """Whether rows go from one server to another."""
    far = layout.between is not None and layout.between.scope != "scale-up"
    return far and (layout.servers > 1 or layout.stages > 1)
