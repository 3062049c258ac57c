"""The decoding batch, without a walk over it: a shared counter stands for all.

Each decoding request gets one token per iteration, so its state is kept relative to
``clock``, which counts the iterations. A request that joins when the clock shows 7 and
wants 5 more tokens is done when it shows 12; the cache of all grows by the size of the
batch at each tick. Only those that join or leave are touched, so that a leap over a
thousand iterations of a thousand requests costs as much as one of one.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from math import nan
from operator import itemgetter

from llmserve_lab.checks import whole
from llmserve_lab.engine.metrics.suffix_max import SuffixMax
from llmserve_lab.engine.metrics.tbt_histogram import TbtHistogram
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.timing.iteration_span import IterationSpan

MOST_BLOCK = 2**22  # a counter for each of its tokens


class DecodeBatch:
    """Requests that decode; a KV block holds ``block_tokens`` tokens.

    ``clock`` counts the iterations (ticks), ``cached`` the tokens that all members have
    in cache. ``last_tick_s`` says when the members got their last token, but for the
    ``fresh``, which have joined since. ``_phases[p]`` counts the members whose last
    block is full when clock ≡ −p (modulo the block): a member of ``known`` tokens is
    always in the same class, since its tokens and the clock grow together.
    """

    def __init__(self, block_tokens: int, gaps: TbtHistogram) -> None:
        whole(of="token", most=MOST_BLOCK, block_tokens=block_tokens)
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
        """Add a request that has just got a token, and holds the room for it."""
        if not self._by_end:
            self.last_tick_s = now_s
        elif now_s != self.last_tick_s:
            self.fresh.append(sequence)
        sequence.joined_at_step = self.clock
        insort(self._by_end, (self.clock + sequence.left, sequence.number, sequence))
        self.cached += sequence.cached
        # known and clock grow by one together, so their difference names a class that
        # the member stays in until it leaves: no tick has to move it.
        self._phases[(sequence.known - self.clock) % self.block_tokens] += 1

    def tick(self, run: IterationSpan) -> None:
        """Give each member a token in each iteration of ``run``."""
        if self.fresh or run.start_s != self.last_tick_s:
            self._first_tick(run)
            if run.count > 1:
                self._more_ticks(run, skipped=1)
        else:
            self._more_ticks(run, skipped=0)
        self.last_tick_s = run.end_s

    def _first_tick(self, run: IterationSpan) -> None:
        """Book the first iteration, before which members may have waited unequally.

        Those that have just joined wait since their prefill, the others since the last
        tick: the two have gaps of their own. From then on all gaps are alike.
        """
        now_s = run.boundary_s(1)
        self.clock += 1
        self.cached += len(self._by_end)
        for sequence in self.fresh:
            self.gaps.add(sequence.emit(now_s))
            sequence.cached += 1
            sequence.joined_at_step = self.clock
        steady = len(self._by_end) - len(self.fresh)
        if steady:
            gap_s = now_s - self.last_tick_s
            self.gaps.add(gap_s, times=steady)
            self._peaks.push(self.clock, gap_s)
        self.fresh.clear()

    def _more_ticks(self, run: IterationSpan, *, skipped: int) -> None:
        """Book the iterations of ``run`` but the first ``skipped``: each is a gap."""
        count, size = run.count - skipped, len(self._by_end)
        first_s = run.first_s + skipped * run.slope_s
        self.clock += count
        self.cached += size * count
        self.gaps.add(first_s, slope_s=run.slope_s, count=count, times=size)
        self._peaks.push(self.clock, first_s + (count - 1) * run.slope_s)

    def skip(self, more: Callable[[Sequence], int]) -> int:
        """Give members further tokens at the last tick; return the blocks they fill.

        ``more(member)`` are those on top of the tick's own, at most what is left.
        """
        self.settle()
        blocks, size = 0, self.block_tokens
        for member in self:
            extra = more(member)
            if not extra:
                continue
            # Tokens on top of the tick's own change the class, as ticks do not.
            self._phases[(member.known - self.clock) % size] -= 1
            # ⌈(cached + extra) / size⌉ - ⌈cached / size⌉, in whole numbers
            blocks += -(-(member.cached + extra) // size) + -member.cached // size
            member.emitted += extra
            member.known += extra
            member.cached += extra
            self.cached += extra
            self._phases[(member.known - self.clock) % size] += 1
        self._by_end = [(self.clock + each.left, each.number, each) for each in self]
        self._by_end.sort()
        return blocks

    def youngest(self) -> Sequence:
        """The member that was admitted last."""
        return max(self._by_end, key=itemgetter(1))[2]

    def contexts(self) -> list[tuple[Sequence, int]]:
        """Members in order of admission, and the tokens that each has cached."""
        members = sorted(self, key=lambda each: each.number)
        return [
            (each, each.cached + self.clock - each.joined_at_step) for each in members
        ]

    def finished(self) -> list[Sequence]:
        """Take out those that have all their tokens."""
        done = []
        while self._by_end and self._by_end[0][0] == self.clock:
            done.append(self._left(self._by_end.pop(0)[2]))
        return done

    def remove(self, sequence: Sequence) -> None:
        """Take out one that is not done.

        Raises:
            ValueError: it is not in the batch.
        """
        members = [member for _, _, member in self._by_end]
        if sequence not in members:
            raise ValueError(f"victim must be a request that runs, got {sequence!r}")
        del self._by_end[members.index(sequence)]
        self._left(sequence)

    def settle(self) -> None:
        """Write what the clock has counted into every member, as a policy reads it."""
        since, worst_s = self.clock, nan
        for sequence in self:
            if (joined := sequence.joined_at_step) == self.clock:
                continue
            if joined != since:  # mostly they were all settled at the same tick
                since, worst_s = joined, self._worst_gap_s(joined)
            self._book(sequence, worst_s)

    def _settle(self, sequence: Sequence) -> None:
        if (joined := sequence.joined_at_step) != self.clock:
            self._book(sequence, self._worst_gap_s(joined))

    def _worst_gap_s(self, joined: int) -> float:
        # From the tick after it joined: what was pushed up to then are gaps of others,
        # and its first one, since its prefill, ``emit`` has seen.
        return self._peaks.highest_since(joined + 1)

    def _book(self, sequence: Sequence, worst_s: float) -> None:
        ticks = self.clock - sequence.joined_at_step
        sequence.emitted += ticks
        sequence.known += ticks
        sequence.cached += ticks
        sequence.last_token_s = self.last_tick_s
        if worst_s > sequence.worst_gap_s:
            sequence.worst_gap_s = worst_s
        sequence.joined_at_step = self.clock

    def _left(self, sequence: Sequence) -> Sequence:
        """Settle a member that has left."""
        self._settle(sequence)
        self.cached -= sequence.cached
        self._phases[(sequence.known - self.clock) % self.block_tokens] -= 1
        if sequence in self.fresh:
            self.fresh.remove(sequence)
        if not self._by_end:
            self._peaks.clear()
        return sequence

    def blocks_for_last_tick(self) -> int:
        """New blocks for the token of the last tick, one for each full last block."""
        return self._phases[(1 - self.clock) % self.block_tokens]

    def blocks_for(self, ticks: int) -> int:
        """New blocks that the present members need over the next ``ticks``.

        In ``block_tokens`` ticks each member fills one block; of the ticks that are
        left over, each is the turn of one class of ``_phases``.
        """
        phases, size = self._phases, self.block_tokens
        rounds, rest = divmod(ticks, size)
        need = rounds * len(self._by_end)
        for place in range(-self.clock, -self.clock - rest, -1):
            need += phases[place % size]
        return need

    def ticks_within(self, blocks: int, *, most: int) -> int:
        """Ticks, ``most`` at most, until one finds too few of so many free blocks.

        With a block for each member and round, no tick can: nothing is counted then.
        """
        if blocks >= len(self._by_end) * ((most - 1) // self.block_tokens + 1):
            return most
        for ticks in range(1, most):
            if self.blocks_for(ticks) > blocks:
                return ticks
        return most
