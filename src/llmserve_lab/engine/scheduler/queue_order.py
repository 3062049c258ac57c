"""Queueing disciplines: which request is admitted next, and which one is preempted."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.scheduler.state import BatchState


@dataclass(frozen=True)
class Order:
    """First come, first served, unless a subclass chooses otherwise.

    A subclass overrides one method or both. ``next`` is asked when there is room in the
    batch, ``victim`` when a token finds no free block; both may read what
    :class:`Policy` says of the state, and change nothing. A preempted request returns
    to the head of ``state.waiting``, so that in it the earlier comes first.

    ``steady`` promises that a choice stays the same while requests neither arrive nor
    start nor end. One that depends on the time, on the tokens produced so far or on the
    free blocks must set it to False: the engine then takes iterations one by one while
    requests wait. A request must be admitted at the latest when none runs.
    """

    steady = True

    def next(self, state: BatchState) -> Sequence | None:
        """The waiting request that is admitted next, or None to admit none now."""
        return state.waiting[0]

    def victim(self, state: BatchState) -> Sequence:
        """The running request that is preempted: the one that was admitted last."""
        return state.youngest()


@dataclass(frozen=True)
class Fcfs(Order):
    """First come, first served: the head of the queue is next, the youngest yields."""


FCFS = Fcfs()  # the default of every policy


@dataclass(frozen=True)
class ShortestPromptFirst(Order):
    """Shortest job first, by prompt: mean waits fall, and long prompts may starve."""

    def next(self, state: BatchState) -> Sequence:
        """The shortest prompt; of equal ones the earlier."""
        return min(state.waiting, key=lambda each: each.request.prompt_len)


@dataclass(frozen=True)
class Priority(Order):
    """By ``Request.priority``, the smaller first; within one, first come first served.

    The request of least priority is preempted, of equals the one that arrived last.
    A waiting request never preempts a running one; only missing blocks do.
    """

    def next(self, state: BatchState) -> Sequence:
        """The most urgent of the waiting requests."""
        return min(state.waiting, key=urgency)

    def victim(self, state: BatchState) -> Sequence:
        """The least urgent of the running requests."""
        return max(state.running(), key=urgency)


def urgency(sequence: Sequence) -> tuple[int, float, int]:
    """Sorts the most urgent first."""
    request = sequence.request
    return request.priority, request.arrival_s, request.id
