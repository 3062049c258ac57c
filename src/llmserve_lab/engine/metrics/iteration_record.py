"""What one iteration (or a span of like ones) ran, and how long it took."""

from __future__ import annotations

from typing import NamedTuple

from llmserve_lab.engine.timing.load import IterationLoad


class ScheduledTokens(NamedTuple):
    """What one request brings into an iteration: new rows, after those in cache."""

    id: int
    rows: int
    context: int


class IterationRecord(NamedTuple):
    """``count`` like iterations of one replica, from ``start_s`` to ``end_s``.

    ``load`` is that of the first, padding included; ``decode_rows`` of its rows are
    decodes, and ``chunks`` are (request id, rows, context in cache) of the prompts.
    ``compute_s`` and ``memory_s`` are sums over the iterations. ``waiting`` requests
    are in the queue at the end, and ``used_blocks`` of ``num_blocks`` KV blocks were
    held in the last of the iterations. Where each iteration has a record of its own
    (``leap=False``), ``scheduled`` names what every request ran in it, and ``queue``
    the ids that wait.
    """

    start_s: float
    end_s: float
    count: int  # type: ignore[assignment]  # and not what a tuple counts
    pool: str
    replica: int
    decode_rows: int
    load: IterationLoad
    compute_s: float
    memory_s: float
    waiting: int
    kv_tokens_held: int
    chunks: tuple[tuple[int, int, int], ...]
    used_blocks: int
    num_blocks: int
    scheduled: tuple[ScheduledTokens, ...] = ()
    queue: tuple[int, ...] = ()

    @property
    def seconds(self) -> float:
        """Mean time of one of the iterations."""
        return (self.end_s - self.start_s) / self.count

    @property
    def prefill_rows(self) -> int:
        """Rows of prompts in one iteration."""
        return sum(rows for _, rows, _ in self.chunks)

    @property
    def padding_rows(self) -> int:
        """Rows that are computed and thrown away."""
        return self.load.rows - self.decode_rows - self.prefill_rows

    @property
    def binds(self) -> str:
        """Which of the two takes longer."""
        return "compute" if self.compute_s >= self.memory_s else "memory"
