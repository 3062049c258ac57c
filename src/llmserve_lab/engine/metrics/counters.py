"""Counters of one replica: iterations, busy time and KV cache, as a few sums.

The sums over a span of iterations are closed forms, so nothing here depends on how the
iterations are cut into spans.
"""

from __future__ import annotations

from typing import NamedTuple

from llmserve_lab.engine.metrics.iteration_record import (
    IterationRecord,
    ScheduledTokens,
)
from llmserve_lab.engine.timing.iteration_span import IterationSpan


class Progress(NamedTuple):
    """What a replica hands over of a span that has ended, before it acts on it.

    ``cached_tokens`` were in the KV cache in its first iteration, and ``growth`` more
    in each later one. ``chunks`` are the prompts among ``scheduled``.
    """

    cached_tokens: int
    growth: int
    used_blocks: int
    decode_rows: int
    waiting: int
    chunks: tuple[tuple[int, int, int], ...]
    scheduled: tuple[ScheduledTokens, ...]
    queue: tuple[int, ...]


class ReplicaCounters:
    """Iterations, seconds busy, of which computing and reading, and cache over time."""

    def __init__(
        self, num_blocks: int, *, where: tuple[str, int] = ("pool", 0), log: bool
    ) -> None:
        self.num_blocks, self.where = num_blocks, where
        self.iterations = 0
        self.busy_s = 0.0
        self.compute_s = 0.0
        self.memory_s = 0.0
        self.kv_token_s = 0.0  # tokens in cache × seconds that they were held
        self.kv_peak_blocks = 0
        self.records: list[IterationRecord] | None = [] if log else None

    def note_blocks(self, used_blocks: int) -> None:
        """Remember the most KV blocks that were ever held."""
        if used_blocks > self.kv_peak_blocks:
            self.kv_peak_blocks = used_blocks

    def add(
        self, span: IterationSpan, cached_tokens: int, growth: int, used_blocks: int
    ) -> None:
        """Count a span that has ended; the terms are those of :class:`Progress`."""
        self.iterations += span.count
        self.busy_s += span.end_s - span.start_s
        self.compute_s += span.total(span.compute_s, span.more_compute_s)
        self.memory_s += span.total(span.memory_s, span.more_memory_s)
        self.kv_token_s += span.weighted_total(cached_tokens, growth)
        if used_blocks > self.kv_peak_blocks:
            self.kv_peak_blocks = used_blocks

    def log(self, span: IterationSpan, progress: Progress) -> None:
        """Keep a record of a span that has ended, if iterations are logged."""
        if self.records is not None:
            self.records.append(self._record(span, progress))

    def _record(self, span: IterationSpan, progress: Progress) -> IterationRecord:
        return IterationRecord(
            start_s=span.start_s,
            end_s=span.end_s,
            count=span.count,
            pool=self.where[0],
            replica=self.where[1],
            decode_rows=progress.decode_rows,
            load=span.load,
            compute_s=span.compute_total_s,
            memory_s=span.memory_total_s,
            waiting=progress.waiting,
            kv_tokens_held=progress.cached_tokens,
            chunks=progress.chunks,
            used_blocks=progress.used_blocks,
            num_blocks=self.num_blocks,
            scheduled=progress.scheduled,
            queue=progress.queue,
        )
