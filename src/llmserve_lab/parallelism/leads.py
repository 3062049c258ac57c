"""How far off a predicted time may be, by the kind of layout, and what leads what.

Each kind has the range of its own measured times over the predicted ones; nearly all
measured times are longer, so the corrected time is the middle of the range. A pipeline
was never measured; it has the range of the groups that its stages are, and a picture
has to say so. Layouts of one kind share the model's error, so they are compared by the
ratio of what the model says; layouts of different kinds tie where their ranges overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.parallelism.deployments import GpuLayout

Span = tuple[float, float]
SERVER_TOKEN: Span = (1.02, 1.27)  # decode of groups in a server, nothing waiting
TWO_SERVERS = 1.06  # what a group over two servers gains less than predicted
GROUP_PROMPT: Span = (0.87, 1.08)  # prompts read by a group, on one to four servers
RING_PROMPT: Span = (1.08, 1.53)  # prompts read by a ring of servers
TOKEN_RATIO = 1.14  # how far off the ratio of two groups in a server was, at one load
PROMPT_RATIO = 1.24  # how far off the ratio of two groups' prompts was
RING = "ring"


@dataclass(frozen=True)
class TimeRange:
    """A predicted time, and what it may be by the measured errors of its kind."""

    bare: float  # the model's own
    span: Span
    kind: str
    ratio: float  # how far off the ratio of two times of this kind may be

    @property
    def middle(self) -> float:
        """The corrected time: the middle of the range."""
        return sum(self.span) / 2

    def leads(self, other: TimeRange) -> bool:
        """Whether this one is shorter, whatever the error; if neither, they tie."""
        if self.kind == other.kind:
            return self.bare * self.ratio < other.bare
        return self.span[1] < other.span[0]


def kind(layout: GpuLayout) -> str:
    """Layouts of one kind share the model's error."""
    if layout.stages > 1:
        return "pipeline"
    return "group over servers" if layout.servers > 1 else "group in a server"


def token_range(seconds: float, layout: GpuLayout) -> TimeRange:
    """A time from token to token."""
    more = TWO_SERVERS if layout.servers > 1 else 1.0
    low, high = (seconds * more * each for each in SERVER_TOKEN)
    return TimeRange(seconds, (low, high), kind(layout), TOKEN_RATIO)


def prompt_range(seconds: float, layout: GpuLayout | None = None) -> TimeRange:
    """The time of a prompt; without a layout, on a ring of servers."""
    low, high = GROUP_PROMPT if layout else RING_PROMPT
    span = seconds * low, seconds * high
    return TimeRange(seconds, span, kind(layout) if layout else RING, PROMPT_RATIO)


def crosses(layout: GpuLayout) -> bool:
    """Whether rows go from one server to another."""
    far = layout.between is not None and layout.between.scope != "scale-up"
    return far and (layout.servers > 1 or layout.stages > 1)
