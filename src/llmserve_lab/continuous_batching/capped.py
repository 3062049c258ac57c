"""Chunked prefill with a cap: what one prompt may take of an iteration."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from llmserve_lab.checks import whole
from llmserve_lab.engine import Chunked
from llmserve_lab.engine.scheduler.policies import Plan
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.scheduler.state import BatchState
from llmserve_lab.engine.timing.cost import MANY

CAP = 512  # rows


@dataclass(frozen=True)
class Capped(Chunked):
    """Chunked prefill in which one prompt has at most ``cap`` rows of an iteration.

    What the oldest leaves of the budget goes to the next, under the same cap. (A lone
    request is capped, too, which vLLM does not do; here none is alone.)
    """

    _: KW_ONLY
    cap: int = CAP

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(cap=self.cap)

    def plan(self, state: BatchState) -> Plan:
        """Give each prompt its rows, in order of arrival, until the budget is full."""
        chunks: list[tuple[Sequence, int]] = []
        room = self.budget - len(state.decode_batch) * state.decode_rows
        while room > 0:
            sequence = state.next_prompt(len(chunks), self.max_batch)
            if sequence is None:
                break
            rows = min(room, self.cap, sequence.pending)
            chunks.append((sequence, rows))
            room -= rows
        return Plan(chunks, repeats=1 if chunks else MANY)
