"""Timeline of a pipeline: when each stage did each microbatch, and when it stood idle.

The order of work and what it waited for are those that the ranks wrote down while they
ran; only how long a pass takes is put in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from llmserve_lab.parallelism.pipeline import StageOutput, StagePass

Lasts = Callable[[StagePass], float]


def one_slot(_: StagePass) -> float:
    """One unit of time for every pass: equal stages, equal microbatches."""
    return 1.0


@dataclass(frozen=True)
class StageSpan:
    """One pass of one stage, from ``start`` to ``end``."""

    stage: int
    microbatch: int
    group: int
    start: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """Spans of all stages in the order of their starts."""

    num_stages: int
    spans: tuple[StageSpan, ...]

    @cached_property
    def makespan(self) -> float:
        """Time from the first start to the last end."""
        return max(span.end for span in self.spans)

    @property
    def busy(self) -> float:
        """Time that stages worked, added up over them."""
        return sum(span.end - span.start for span in self.spans)

    @property
    def bubble(self) -> float:
        """Share of all stages' time in which they had nothing to do."""
        return 1 - self.busy / (self.num_stages * self.makespan)

    def finished(self, group: int) -> list[float]:
        """When the last stage was done with each pass of a group: its tokens."""
        last = self.num_stages - 1
        return [s.end for s in self.spans if s.stage == last and s.group == group]


def timeline(stages: Sequence[StageOutput], lasts: Lasts = one_slot) -> Timeline:
    """Lay the logs of all stages side by side in time.

    A pass starts when its stage is free and what it waited for is done.

    Raises:
        ValueError: a log waits for something that no stage did.
    """
    ends: dict[tuple[int, int], float] = {}
    free = [0.0] * len(stages)
    left = [list(stage.passes) for stage in stages]
    spans: list[StageSpan] = []
    while any(left):
        before = len(spans)
        for stage, passes in enumerate(left):
            while passes and (
                passes[0].waited_for is None or passes[0].waited_for in ends
            ):
                done = passes.pop(0)
                ready = 0.0 if done.waited_for is None else ends[done.waited_for]
                start = max(free[stage], ready)
                free[stage] = ends[stage, done.microbatch] = start + lasts(done)
                spans.append(
                    StageSpan(stage, done.microbatch, done.group, start, free[stage])
                )
        if len(spans) == before:
            raise ValueError(f"stages must not wait for each other, got {left}")
    return Timeline(len(stages), tuple(sorted(spans, key=lambda s: (s.start, s.stage))))
