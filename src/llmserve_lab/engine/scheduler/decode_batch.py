"""Requests that decode all get one token an iteration, so one clock does for them all.

Nobody walks over the batch. A request joins when the clock shows some number, and is
done when it shows that number plus the tokens it still wants. What the batch has cached
grows by its size at each tick, and how many need a new block is one of 16 counters.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from math import nan

from llmserve_lab.engine.metrics.suffix_max import SuffixMax
from llmserve_lab.engine.metrics.tbt_histogram import TbtHistogram
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.timing.iteration_span import IterationSpan


class DecodeBatch:
    """The batch that decodes; ``block_tokens`` tokens of cache are one block.

    ``clock`` counts its ticks, ``cached`` the tokens that its members have in cache,
    ``last_tick_s`` says when all of them got their last token, but for the ``fresh``,
    which have joined since.
    """

    def __init__(self, block_tokens: int, gaps: TbtHistogram) -> None:
        self.block_tokens = block_tokens
        self.gaps = gaps
        self.clock = 0
        self.cached = 0
        self.last_tick_s = nan
        self.fresh: list[Sequence] = []
        self._by_end: list[tuple[int, int, Sequence]] = []
        self._phases = [0] * block_tokens
        self._peaks = SuffixMax()

    def __len__(self) -> int:
        return len(self._by_end)

    def __iter__(self) -> Iterator[Sequence]:
        return (sequence for _, _, sequence in self._by_end)

    @property
    def ticks_to_end(self) -> int:
        """Ticks until the first of them is done."""
        return self._by_end[0][0] - self.clock

    def join(self, sequence: Sequence, now_s: float) -> None:
        """Take in a request that has just got a token, and holds the room for one."""
        if not self._by_end:
            self.last_tick_s = now_s
        elif now_s != self.last_tick_s:
            self.fresh.append(sequence)
        sequence.joined_at_step = self.clock
        heappush(self._by_end, (self.clock + sequence.left, sequence.number, sequence))
        self.cached += sequence.cached
        self._phases[(sequence.known - self.clock) % self.block_tokens] += 1

    def tick(self, run: IterationSpan) -> None:
        """Everyone gets a token in each iteration of ``run``."""
        if self.fresh or run.start_s != self.last_tick_s:
            self._first_tick(run)
            if run.count > 1:
                self._more_ticks(run, skipped=1)
        else:
            self._more_ticks(run, skipped=0)
        self.last_tick_s = run.end_s

    def _first_tick(self, run: IterationSpan) -> None:
        """The gaps before it may differ: some wait since their prefill, some longer."""
        now_s = run.boundary_s(1)
        self.clock += 1
        self.cached += len(self)
        for sequence in self.fresh:
            self.gaps.add(sequence.emit(now_s))
            sequence.cached += 1
            sequence.joined_at_step = self.clock
        steady = len(self) - len(self.fresh)
        if steady:
            gap_s = now_s - self.last_tick_s
            self.gaps.add(gap_s, times=steady)
            self._peaks.push(self.clock, gap_s)
        self.fresh.clear()

    def _more_ticks(self, run: IterationSpan, *, skipped: int) -> None:
        """The iterations of ``run`` but the first ``skipped``: each is a gap."""
        count, size = run.count - skipped, len(self)
        first_s = run.first_s + skipped * run.slope_s
        self.clock += count
        self.cached += size * count
        self.gaps.add(first_s, slope_s=run.slope_s, count=count, times=size)
        self._peaks.push(self.clock, first_s + (count - 1) * run.slope_s)

    def contexts(self) -> list[tuple[Sequence, int]]:
        """Who is in, in the order of admission, and the tokens that each has cached."""
        members = sorted(self, key=lambda each: each.number)
        return [
            (each, each.cached + self.clock - each.joined_at_step) for each in members
        ]

    def finished(self) -> list[Sequence]:
        """Take out those that have all their tokens."""
        done = []
        while self._by_end and self._by_end[0][0] == self.clock:
            done.append(self._left(heappop(self._by_end)[2]))
        return done

    def remove(self, sequence: Sequence) -> None:
        """Take out one that is not done."""
        self._by_end = [entry for entry in self._by_end if entry[2] is not sequence]
        heapify(self._by_end)
        self._left(sequence)

    def _left(self, sequence: Sequence) -> Sequence:
        """Settle what the clock has counted for one that has left."""
        ticks = self.clock - sequence.joined_at_step
        if ticks:
            sequence.emitted += ticks
            sequence.known += ticks
            sequence.cached += ticks
            sequence.last_token_s = self.last_tick_s
            worst_s = self._peaks.highest_since(sequence.joined_at_step + 1)
            sequence.worst_gap_s = max(sequence.worst_gap_s, worst_s)
        self.cached -= sequence.cached
        self._phases[(sequence.known - self.clock) % self.block_tokens] -= 1
        if sequence in self.fresh:
            self.fresh.remove(sequence)
        if not self._by_end:
            self._peaks.clear()
        return sequence

    def blocks_for_last_tick(self) -> int:
        """How many have just filled their last block: each must be given another."""
        return self._phases[(1 - self.clock) % self.block_tokens]

    def blocks_for(self, ticks: int) -> int:
        """New blocks that the present members need over the next ``ticks``."""
        rounds, rest = divmod(ticks, self.block_tokens)
        need, phases, size = rounds * len(self), self._phases, self.block_tokens
        for place in range(-self.clock, -self.clock - rest, -1):
            need += phases[place % size]
        return need

    def ticks_within(self, blocks: int, *, most: int) -> int:
        """Ticks, ``most`` at most, before one finds too few of so many free blocks."""
        if blocks >= len(self) * ((most - 1) // self.block_tokens + 1):
            return most
        for ticks in range(1, most):
            if self.blocks_for(ticks) > blocks:
                return ticks
        return most
