"""Who waits, who is in the batch, and which blocks of cache they hold.

Everyone in the batch holds blocks for all tokens known of it, from admission on. A new
token may need a new block; where none is free, whoever was admitted last gives its
blocks back, returns to the head of the queue, and will be computed again.
"""

from __future__ import annotations

from collections import deque
from math import inf

from llmserve_lab.engine.metrics.tbt_histogram import TbtHistogram
from llmserve_lab.engine.pool import Pool
from llmserve_lab.engine.scheduler.decode_batch import DecodeBatch
from llmserve_lab.engine.scheduler.prefix_cache import CachedPrefixes
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.timing.cost import IterationLoad


class BatchState:
    """The state that a policy looks at, and the moves that it may make.

    ``prefilling`` are in the middle of a prompt, the oldest first. ``end_s`` is when
    the running iteration ends; between two, it is now; infinite while idle.
    """

    def __init__(
        self, pool: Pool, gaps: TbtHistogram, prefix_cache: CachedPrefixes | None
    ) -> None:
        self.cost, self.policy = pool.cost, pool.policy
        self.block_tokens, self.num_blocks = pool.block_tokens, pool.num_blocks
        self.free_blocks = self.num_blocks
        self.gaps, self.prefix_cache = gaps, prefix_cache
        self.waiting: deque[Sequence] = deque()
        self.prefilling: list[Sequence] = []
        self.decode_batch = DecodeBatch(self.block_tokens, gaps)
        self.done: list[Sequence] = []  # of a frozen batch, which keeps them to its end
        self.slots = self.width = self.opened_at = 0  # of a frozen batch
        self.end_s = inf
        self._admissions = 0

    @property
    def size(self) -> int:
        """Requests in the batch, done ones that must stay included."""
        return len(self.prefilling) + len(self.decode_batch) + len(self.done)

    @property
    def cached(self) -> int:
        """Tokens that the requests of the batch have in cache."""
        others = sum(sequence.cached for sequence in (*self.prefilling, *self.done))
        return self.decode_batch.cached + others

    def decode_load(self) -> IterationLoad:
        """What the decoders bring into the next iteration."""
        rows, cached = len(self.decode_batch), self.decode_batch.cached
        return IterationLoad(rows, cached + rows, cached)

    def blocks(self, tokens: int) -> int:
        """Blocks that hold so many tokens."""
        return -(-tokens // self.block_tokens)

    def admit(self) -> Sequence | None:
        """Move the head of the queue into the batch if there are blocks for it."""
        if not self.waiting:
            return None
        sequence = self.waiting[0]
        reply = sequence.left - 1 if self.policy.reserve_output else 0
        blocks = self.blocks(sequence.known + reply)
        return self._enter(blocks) if blocks <= self.free_blocks else None

    def next_prompt(self, place: int, max_batch: int) -> Sequence | None:
        """The prompt at ``place`` among those begun, or else one newly admitted."""
        if place < len(self.prefilling):
            return self.prefilling[place]
        return self.admit() if self.size < max_batch else None

    def open_batch(self, most: int) -> None:
        """Admit up to ``most`` requests, with room for all of them padded alike."""
        slots = room = width = longest = 0
        for sequence in self.waiting:
            width = max(width, sequence.known)
            longest = max(longest, sequence.left)
            blocks = self.blocks(width + longest - 1)
            if slots == most or blocks * (slots + 1) > self.num_blocks:
                break
            slots, room, self.width = slots + 1, blocks, width
        self.slots, self.opened_at = slots, self.decode_batch.clock
        for _ in range(slots):
            self._enter(room)

    def _enter(self, blocks: int) -> Sequence:
        sequence = self.waiting.popleft()
        self.free_blocks -= blocks
        sequence.reserved = blocks if self.policy.reserve_output else 0
        self._admissions += 1
        sequence.number = self._admissions
        if not (sequence.emitted or sequence.preemptions):
            sequence.scheduled_s = self.end_s
        if self.prefix_cache is not None and not sequence.cached:
            sequence.cached = self.prefix_cache.match(sequence.request)
            if not sequence.preemptions:
                sequence.hit_tokens = sequence.cached
        self.prefilling.append(sequence)
        return sequence

    def held_by(self, sequence: Sequence) -> int:
        """Blocks that a request holds once all that is known but the last is cached."""
        return sequence.reserved or self.blocks(sequence.cached)

    def grow(self, blocks: int) -> None:
        """Take blocks that are needed, even if they have to be taken from somebody."""
        if not self.policy.reserve_output:
            self.free_blocks -= blocks

    def preempt(self) -> None:
        """Send whoever was admitted last back to the head of the queue."""
        inside = (*self.prefilling, *self.decode_batch)
        sequence = max(inside, key=lambda each: each.number)
        group = self.prefilling if sequence in self.prefilling else self.decode_batch
        group.remove(sequence)
        self.free_blocks += self.blocks(sequence.known)
        sequence.cached = 0
        sequence.preemptions += 1
        self.waiting.appendleft(sequence)
