"""Schedulers that the chapter compares with those of the engine, each a few lines.

One static batch skips its wasted rows instead of computing them; one reads prompts in
chunks, but never beside decodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.engine import Chunked, Static
from llmserve_lab.engine.scheduler.policies import Plan
from llmserve_lab.engine.scheduler.state import BatchState
from llmserve_lab.engine.timing.cost import MANY


@dataclass(frozen=True)
class StaticSkipping(Static):
    """Static batching that computes no row of a complete answer, and pads no prompt.

    The slots stay closed until the longest answer is complete, as in any static batch.
    """

    def plan(self, state: BatchState) -> Plan:
        """As the static batch, with the load of the tokens alone."""
        return super().plan(state)._replace(padded=None)


@dataclass(frozen=True)
class ChunksApart(Chunked):
    """Chunks without mixing: an iteration of decodes, then a chunk alone, in turn."""

    def plan(self, state: BatchState) -> Plan:
        """Let the requests that decode write a token, then read the next chunk."""
        asked = bool(state.prefilling or state.waiting)
        if len(state.decode_batch) and not state.waited:
            return Plan([], repeats=1 if asked else MANY, waits=asked)
        plan = super().plan(state)
        return plan._replace(decode=not plan.chunks, repeats=1)
