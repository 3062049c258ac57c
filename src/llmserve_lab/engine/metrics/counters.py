"""What a replica has done so far, in a few sums; and iteration by iteration on demand.

Sums of a run are closed forms, so nothing here depends on how runs are cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmserve_lab.engine.metrics.iteration_log import IterationRecord
from llmserve_lab.engine.timing.iteration_span import IterationSpan

if TYPE_CHECKING:
    from llmserve_lab.engine.replica import Replica


class ReplicaCounters:
    """Iterations, seconds busy, of which computing and reading, and cache over time."""

    def __init__(self, *, where: tuple[str, int] = ("pool", 0), log: bool) -> None:
        self.where = where
        self.iterations = 0
        self.busy_s = 0.0
        self.compute_s = 0.0
        self.memory_s = 0.0
        self.kv_token_s = 0.0  # tokens in cache × seconds that they were held
        self.kv_peak_blocks = 0
        self.steps: list[IterationRecord] | None = [] if log else None
        self._held = self._more = 0

    def set_out(self, replica: Replica) -> None:
        """Note what is in cache as a run begins, and how fast it grows."""
        self._held = replica.cached
        chunks = sum(rows for _, rows in replica.plan.chunks)
        self._more = chunks + (len(replica.decode_batch) if replica.decoding else 0)
        self._note_peak(replica)

    def book(self, replica: Replica, run: IterationSpan) -> None:
        """Add a run that is over, before anything else has changed."""
        self.iterations += run.count
        self.busy_s += run.end_s - run.start_s
        self.compute_s += run.compute_total_s
        self.memory_s += run.memory_total_s
        self.kv_token_s += run.weighted_total(self._held, self._more)
        self._note_peak(replica)
        if self.steps is not None:
            self.steps.append(self._step(replica, run))

    def _note_peak(self, replica: Replica) -> None:
        used = replica.num_blocks - replica.free_blocks
        if used > self.kv_peak_blocks:
            self.kv_peak_blocks = used

    def _step(self, replica: Replica, run: IterationSpan) -> IterationRecord:
        chunks = tuple(
            (sequence.request.id, rows, sequence.cached)
            for sequence, rows in replica.plan.chunks
            if not (sequence.emitted and rows == 1)
        )
        singles = len(replica.plan.chunks) - len(
            chunks
        )  # with their prompt behind them
        return IterationRecord(
            start_s=run.start_s,
            end_s=run.end_s,
            count=run.count,
            pool=self.where[0],
            replica=self.where[1],
            decode_rows=singles
            + (len(replica.decode_batch) if replica.decoding else 0),
            load=run.load,
            compute_s=run.compute_total_s,
            memory_s=run.memory_total_s,
            waiting=len(replica.waiting),
            kv_tokens_held=self._held,
            chunks=chunks,
        )
