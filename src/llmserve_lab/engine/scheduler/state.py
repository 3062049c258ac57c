"""Scheduler state: the waiting queue, the running batch, and its KV blocks.

A running request holds blocks for all its known tokens, from admission on. A new token
may need a new block. Where none is free, one request is preempted: it gives its blocks
back and returns to the head of the queue. By recomputation, it is prefilled again; by
swapping, its KV is copied to the host's memory and back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf

from llmserve_lab.engine.metrics.events import EventKind, EventLog
from llmserve_lab.engine.metrics.tbt_histogram import TbtHistogram
from llmserve_lab.engine.scheduler.decode_batch import DecodeBatch
from llmserve_lab.engine.scheduler.paged_memory import PagedMemory
from llmserve_lab.engine.scheduler.prefix_cache import CachedPrefixes
from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.timing.cost import IterationCost
from llmserve_lab.engine.timing.load import IterationLoad


class BatchState:
    """What a scheduling policy reads, and the moves that it may make.

    ``waiting`` is the queue, its head first; ``prefilling`` are the requests in the
    middle of a prompt, the oldest first; ``decode_batch`` holds the others that run.
    ``end_s`` is when the present iteration ends; between two iterations it is now; it
    is infinite while idle. What a policy may rely on is said in :class:`Policy`.
    """

    def __init__(
        self,
        cost: IterationCost,
        num_blocks: int,
        block_tokens: int = 16,
        *,
        choose_next: Callable[[BatchState], Sequence | None],
        choose_victim: Callable[[BatchState], Sequence],
        reserve_output: bool = False,
        swap_token_s: float | None = None,
        gaps: TbtHistogram | None = None,
        prefix_cache: CachedPrefixes | None = None,
        memory: PagedMemory | None = None,
        events: EventLog | None = None,
    ) -> None:
        self.cost = cost
        self.num_blocks = self.free_blocks = num_blocks
        self.block_tokens, self.reserve_output = block_tokens, reserve_output
        self.swap_token_s = swap_token_s  # None: preemption by recomputation
        self._choose_next, self._choose_victim = choose_next, choose_victim
        self.gaps = TbtHistogram() if gaps is None else gaps
        self.prefix_cache, self.events = prefix_cache, events
        self.decode_rows = 1  # rows of each decode; with drafts to verify, more
        self.memory = memory  # None: blocks are counted, and none is shared
        self.waiting: deque[Sequence] = deque()
        self.prefilling: list[Sequence] = []
        self.decode_batch = DecodeBatch(block_tokens, self.gaps)
        self.done: list[Sequence] = []  # of a static batch, which keeps them to its end
        self.slots = self.width = self.opened_at = 0  # of a static batch
        self.end_s = inf
        self.waited = 0  # iterations for which admission has waited for company
        self.preemptions = self.recomputed_tokens = self.swapped_tokens = 0
        self.copy_s = 0.0  # of swapping, before the next iteration can start
        self._admissions = 0

    @property
    def size(self) -> int:
        """Running requests, those included that are done but must stay (static)."""
        return len(self.prefilling) + len(self.decode_batch) + len(self.done)

    @property
    def used_blocks(self) -> int:
        """KV blocks that are held."""
        return self.num_blocks - self.free_blocks

    @property
    def cached(self) -> int:
        """Tokens of the running requests that have a KV entry."""
        tokens = self.decode_batch.cached
        for sequence in self.prefilling:
            tokens += sequence.cached
        for sequence in self.done:
            tokens += sequence.cached
        return tokens

    def running(self) -> list[Sequence]:
        """Requests that run and are not done, in order of admission."""
        self.decode_batch.settle()
        inside = (*self.prefilling, *self.decode_batch)
        return sorted(inside, key=lambda each: each.number)

    def youngest(self) -> Sequence:
        """Of :meth:`running` the last, without a look at the others' tokens."""
        youngest = self.prefilling[-1:]
        if len(self.decode_batch):
            youngest.append(self.decode_batch.youngest())
        return max(youngest, key=lambda each: each.number)

    def decode_load(self) -> IterationLoad:
        """What the decoding requests bring into the next iteration."""
        rows, cached = len(self.decode_batch), self.decode_batch.cached
        return IterationLoad(rows, cached + rows, cached, rows)

    def blocks(self, tokens: int) -> int:
        """KV blocks that hold so many tokens."""
        return -(-tokens // self.block_tokens)

    def blocks_to_admit(self, sequence: Sequence) -> int:
        """KV blocks that must be free for a waiting request to be admitted."""
        blocks = self._blocks_of_table(sequence)
        return self.memory.missing(sequence, blocks) if self.memory else blocks

    def _blocks_of_table(self, sequence: Sequence) -> int:
        """KV blocks that a request holds once admitted, those shared included."""
        output = sequence.left - 1 if self.reserve_output else 0
        return self.blocks(sequence.known + output)

    def next_waiting(self) -> Sequence | None:
        """The request that is next to be admitted, if any waits."""
        return self._chosen() if self.waiting else None

    def _chosen(self) -> Sequence | None:
        """What the order chooses of those that wait, or None to admit none now.

        Raises:
            ValueError: what it chooses is no request that waits.
        """
        chosen = self._choose_next(self)
        if chosen is None or self.waiting[0] is chosen or chosen in self.waiting:
            return chosen
        raise ValueError(
            f"next must be a request that waits, or None, got {chosen!r} "
            f"with {len(self.waiting)} waiting"
        )

    def admit(self) -> Sequence | None:
        """Move the request that is next into the batch if there are blocks for it.

        Where there are not, none is admitted in its place (head-of-line blocking).
        """
        sequence = self.next_waiting()
        if sequence is None:
            return None
        needed = blocks = self._blocks_of_table(sequence)
        if self.memory is not None and sequence.request.prefix:
            needed = self.memory.missing(sequence, blocks)
        if needed > self.free_blocks:
            return None
        self._take(sequence)
        self._enter(sequence, blocks)
        return sequence

    def next_prompt(self, place: int, max_batch: int) -> Sequence | None:
        """The prompt at ``place`` among those begun, or else one newly admitted."""
        if place < len(self.prefilling):
            return self.prefilling[place]
        return self.admit() if self.size < max_batch else None

    def open_batch(self, most: int) -> None:
        """Admit a static batch of up to ``most``, with room for all padded alike."""
        group: list[Sequence] = []
        room = longest = self.width = 0
        while len(group) < most and self.waiting:
            sequence = self._chosen()
            if sequence is None:
                break
            width = max(self.width, sequence.known)
            longest = max(longest, sequence.left)
            blocks = self.blocks(width + longest - 1)
            if blocks * (len(group) + 1) > self.num_blocks:
                break
            self._take(sequence)
            group.append(sequence)
            room, self.width = blocks, width
        self.slots, self.opened_at = len(group), self.decode_batch.clock
        for sequence in group:
            self._enter(sequence, room)

    def _take(self, sequence: Sequence) -> None:
        """Take a request out of the queue."""
        if self.waiting[0] is sequence:
            self.waiting.popleft()
        else:
            self.waiting.remove(sequence)

    def _enter(self, sequence: Sequence, blocks: int) -> None:
        found = self._take_blocks(sequence, blocks)
        sequence.reserved = blocks if self.reserve_output else 0
        self._admissions += 1
        sequence.number = self._admissions
        if not (sequence.emitted or sequence.preemptions):
            sequence.scheduled_s = self.end_s
        if sequence.swapped:
            sequence.swapped = False
            self._copy(sequence.cached)
        elif self._shares and not sequence.cached:
            if self.prefix_cache is not None:
                found = self.prefix_cache.match(sequence.request)
            sequence.cached = found
            # preempt() has counted all that it dropped as recomputed; what is found in
            # cache need not be, after all.
            if sequence.preemptions:
                spared = min(sequence.cached, sequence.dropped)
                self.recomputed_tokens -= spared
            else:
                sequence.hit_tokens = sequence.cached
        self.prefilling.append(sequence)
        self.note("admitted", sequence)

    @property
    def _shares(self) -> bool:
        """Whether a prompt may find a part of itself computed."""
        return self.prefix_cache is not None or self.memory is not None

    def _take_blocks(self, sequence: Sequence, blocks: int) -> int:
        """Take the blocks of a table; return the tokens that are computed in them."""
        if self.memory is None:
            self.free_blocks -= blocks
            return 0
        found = self.memory.enter(sequence, blocks)
        self.free_blocks -= blocks
        if found:
            self.free_blocks = self.memory.free_blocks
        return found

    def _return_blocks(self, sequence: Sequence, blocks: int) -> None:
        """Give back all blocks that a request holds."""
        if self.memory is None:
            self.free_blocks += blocks
        else:
            self.free_blocks += self.memory.leave(sequence, blocks)

    def known_tokens(self, request: Request) -> int:
        """Leading tokens of the prompt whose KV entries are still here."""
        if self.memory is None:
            return 0
        return len(self.memory.find(request)) * self.block_tokens

    def held_by(self, sequence: Sequence) -> int:
        """KV blocks held while decoding (the newest token has no KV entry yet)."""
        return sequence.reserved or self.blocks(sequence.cached)

    def grow(self, blocks: int) -> None:
        """Take blocks that new tokens need, even if a preemption must follow."""
        if self.reserve_output or not blocks:
            return
        # Below zero on purpose: the tokens exist already. The replica then preempts
        # until none is owed, before anything else is planned.
        self.free_blocks -= blocks
        if self.memory is not None:
            self.memory.owed += blocks

    def preempt(self) -> None:
        """Preempt the victim: its blocks are free; its KV is swapped out or dropped."""
        sequence = self._choose_victim(self)
        if sequence in self.prefilling:
            self.prefilling.remove(sequence)
        else:
            self.decode_batch.remove(sequence)
        # Known and not cached: grow() has taken the block of its newest token, too.
        self._return_blocks(sequence, self.blocks(sequence.known))
        self.preemptions += 1
        sequence.preemptions += 1
        if self.swap_token_s is None:
            self.recomputed_tokens += sequence.cached
            sequence.dropped, sequence.cached = sequence.cached, 0
        else:
            sequence.swapped = True
            self.swapped_tokens += sequence.cached
            self._copy(sequence.cached)
        self.waiting.appendleft(sequence)
        self.note("preempted", sequence)

    def _copy(self, tokens: int) -> None:
        """Let the next iteration wait for a copy to or from the host's memory."""
        self.copy_s += tokens * (self.swap_token_s or 0.0)

    def note(self, kind: EventKind, sequence: Sequence) -> None:
        """Log what happens to a request at ``end_s``, if anything is logged."""
        if self.events is not None:
            self.events.add(self.end_s, kind, sequence.request.id)
