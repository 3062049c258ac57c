"""One replica of the engine works through one iteration after the other.

begin → (time passes) → commit: what comes next is planned when the last iteration is
over, and what came of it is booked when it ends. Like iterations form one span, which
is cut short at the next boundary when a request arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from llmserve_lab.engine.deployment import Pool
from llmserve_lab.engine.kv_transfer import KVTransfer
from llmserve_lab.engine.metrics.counters import Progress, ReplicaCounters
from llmserve_lab.engine.metrics.events import EventLog
from llmserve_lab.engine.metrics.iteration_record import ScheduledTokens
from llmserve_lab.engine.metrics.tbt_histogram import TbtHistogram
from llmserve_lab.engine.scheduler.paged_memory import PagedMemory
from llmserve_lab.engine.scheduler.policies import Plan
from llmserve_lab.engine.scheduler.prefix_cache import CachedPrefixes
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.scheduler.state import BatchState
from llmserve_lab.engine.speculation import Speculation
from llmserve_lab.engine.timing.iteration_span import IterationSpan
from llmserve_lab.engine.timing.load import IterationLoad

NOTHING = IterationLoad(0, 0, 0)


class Replica(BatchState):
    """A scheduler state with a clock, asked from outside whenever ``end_s`` has come.

    With a ``kv_transfer``, it does not decode: a request leaves with its first token,
    and its blocks are kept until they are given back. Without ``leap``, every span is
    of one iteration.
    """

    def __init__(
        self,
        pool: Pool,
        gaps: TbtHistogram,
        *,
        where: tuple[str, int] = ("pool", 0),
        prefix_cache: CachedPrefixes | None = None,
        kv_transfer: KVTransfer | None = None,
        leap: bool = True,
        log: bool = False,
    ) -> None:
        self.policy, self.routing = pool.policy, pool.routing
        super().__init__(
            pool.cost,
            pool.num_blocks,
            pool.block_tokens,
            choose_next=pool.policy.order.next,
            choose_victim=pool.policy.order.victim,
            reserve_output=pool.policy.reserve_output,
            swap_token_s=pool.swap_token_s,
            gaps=gaps,
            prefix_cache=prefix_cache,
            memory=(
                PagedMemory(pool.num_blocks, pool.block_tokens)
                if pool.prefix_caching
                else None
            ),
            events=EventLog(*where) if log else None,
        )
        self.kv_transfer, self.leap = kv_transfer, leap
        self.speculation = pool.speculation
        self.counters = ReplicaCounters(pool.num_blocks, where=where, log=log)
        self.num_requests = 0  # sent here and not yet done with
        self.leaving: list[Sequence] = []
        self.run: IterationSpan | None = None
        self.plan = Plan([])
        self.decoding = False
        self.perform: Callable[[Replica], None] | None = None
        # Drafts kept by a request after so many tokens: a draw, unless they are run.
        self.keep: Callable[[int, int], int] | None = None
        if pool.speculation is not None:
            self.decode_rows, self.keep = pool.speculation.rows, pool.speculation.kept
        self._cached = self._growth = 0  # as the present span began

    def submit(self, sequence: Sequence, now_s: float) -> None:
        """Append a request to the waiting queue.

        Raises:
            ValueError: it is longer than the model reads, or its cache would not fit.
        """
        sequence.require_context(self.cost.max_context, leap=self.leap)
        stays = self.reserve_output or self.kv_transfer is None
        most = self.blocks(sequence.known + (sequence.left - 1 if stays else 0))
        if most > self.num_blocks:
            raise ValueError(
                f"request {sequence.request.id} must fit into the {self.num_blocks} "
                f"blocks of cache, got one of {most} blocks"
            )
        self.waiting.append(sequence)
        self.num_requests += 1
        if self.events is not None:
            self.events.add(now_s, "arrived", sequence.request.id)
        self.wake(now_s)

    def wake(self, now_s: float) -> None:
        """Plan anew at the next boundary, since something has changed."""
        if self.run is not None:
            self.run.cut(now_s)
            self.end_s = self.run.end_s
        elif not now_s <= self.end_s < inf:
            self.end_s = now_s

    def _enter(self, sequence: Sequence, blocks: int) -> None:
        super()._enter(sequence, blocks)
        if self.kv_transfer is not None:
            self.kv_transfer.find_remote_prefix(sequence)

    def give_back(self, sequence: Sequence, now_s: float) -> None:
        """Free the blocks of a request whose KV has arrived in the decode pool."""
        self._return_blocks(sequence, self.held_by(sequence))
        if self.events is not None:
            self.events.add(now_s, "freed", sequence.request.id)
        self.wake(now_s)

    def begin(self) -> None:
        """Plan the next iterations and start them; with nothing to do, fall idle."""
        plan = self.plan = self.policy.plan(self)
        decodes = len(self.decode_batch) if plan.decode else 0
        self.decoding = decodes > 0
        if not plan.chunks and not self.decoding:
            self.end_s = inf
            return
        self._cached, self._growth = self.cached, decodes
        for _, rows in plan.chunks:
            self._growth += rows
        if self.kv_transfer is not None:  # blocks may be given back before it ends
            self.counters.note_blocks(self.used_blocks)
        self.run = self._run(plan)
        if self.copy_s:
            self.run.delay(self.copy_s)
            self.copy_s = 0.0
        self.end_s = self.run.end_s

    def _run(self, plan: Plan) -> IterationSpan:
        """The iterations for which the plan holds, each with more in cache.

        From one to the next, each decode sees one more token. A chunk of c rows begins
        c tokens later, and each of its rows sees c more: c² more pairs.
        """
        if self.speculation is not None:
            return self._speculative_run(plan, self.speculation)
        load = super().decode_load() if self.decoding else NOTHING
        more_pairs = more_kv = plan.padded.rows if plan.padded else load.rows
        for sequence, rows in plan.chunks:
            load = load.plus(IterationLoad.of(chunk=rows, context=sequence.cached))
            more_pairs += rows * rows
            more_kv += rows
        return IterationSpan(
            self.cost,
            plan.padded or load,
            start_s=self.end_s,
            count=self._count(plan) if self.leap else 1,
            more_pairs=more_pairs,
            more_kv=more_kv,
        )

    def decode_load(self) -> IterationLoad:
        """What the decodes bring into the next iteration, rows of drafts included."""
        decodes = super().decode_load()
        if self.speculation is None:
            return decodes
        return self.speculation.verification(decodes)

    def _speculative_run(self, plan: Plan, speculation: Speculation) -> IterationSpan:
        """One iteration that verifies drafts, after the passes that made them."""
        decodes = super().decode_load() if self.decoding else NOTHING
        prompts = NOTHING
        for each, rows in plan.chunks:
            prompts = prompts.plus(IterationLoad.of(chunk=rows, context=each.cached))
        return speculation.span(self.cost, decodes, prompts, self.end_s)

    def _count(self, plan: Plan) -> int:
        """Iterations until one is done, or the blocks run out, or the plan does."""
        if self.copy_s or (self.waiting and not self.policy.order.steady):
            return 1
        if not self.decoding:
            return plan.repeats
        most = min(plan.repeats, self.decode_batch.ticks_to_end)
        if self.reserve_output:
            return most
        return self.decode_batch.ticks_within(self.free_blocks, most=most)

    def commit(self) -> list[Sequence]:
        """Book the span that is over; return the requests that are answered with it."""
        assert self.run is not None
        if self.perform is not None:
            self.perform(self)
        run, self.run = self.run, None
        self.waited = self.waited + run.count if self.plan.waits else 0
        if self.decoding and run.count > 1:
            self.grow(self.decode_batch.blocks_for(run.count - 1))
        used_blocks = self.num_blocks - self.free_blocks
        self.counters.add(run, self._cached, self._growth, used_blocks)
        if self.events is not None:
            self.counters.log(run, self._progress())
        answered = self._tick(run) if self.decoding else []
        for sequence, rows in self.plan.chunks:
            self._advance(sequence, rows, run)
            if not sequence.pending:
                answered += self._say_first(sequence, run.end_s)
        released = self._release(answered)
        while self.free_blocks < 0:
            self.preempt()
        return released

    def scheduled(self) -> list[ScheduledTokens]:
        """Rows of each request in this iteration, after how many in cache."""
        decodes = self.decode_batch.contexts() if self.decoding else []
        rows = [(each, self.decode_rows, cached) for each, cached in decodes]
        rows += [(each, number, each.cached) for each, number in self.plan.chunks]
        return [
            ScheduledTokens(each.request.id, number, cached)
            for each, number, cached in rows
        ]

    def _progress(self) -> Progress:
        """What is logged of the present span, before anything follows from it."""
        chunks = tuple(
            (each.request.id, rows, each.cached)
            for each, rows in self.plan.chunks
            if not (each.emitted and rows == 1)  # a decode after a preemption
        )
        decodes = len(self.decode_batch) if self.decoding else 0
        return Progress(
            cached_tokens=self._cached,
            growth=self._growth,
            used_blocks=self.used_blocks,
            decode_rows=decodes + len(self.plan.chunks) - len(chunks),
            waiting=len(self.waiting),
            chunks=chunks,
            scheduled=() if self.leap else tuple(self.scheduled()),
            queue=() if self.leap else tuple(each.request.id for each in self.waiting),
        )

    def _tick(self, run: IterationSpan) -> list[Sequence]:
        self.decode_batch.tick(run)
        if self.speculation is not None:
            self.grow(self.decode_batch.skip(self._kept))
        answered = self.decode_batch.finished()
        self.grow(self.decode_batch.blocks_for_last_tick())
        return answered

    def _kept(self, sequence: Sequence) -> int:
        """Drafts kept on top of the token that the last tick gave, before the end."""
        assert self.keep is not None
        kept = self.keep(sequence.request.id, sequence.emitted - 1)
        return min(kept, sequence.left)

    def _advance(self, sequence: Sequence, rows: int, run: IterationSpan) -> None:
        if self.kv_transfer is not None:
            self.kv_transfer.stream(sequence, rows, run)
        sequence.cached += rows * run.count

    def _say_first(self, sequence: Sequence, now_s: float) -> list[Sequence]:
        """Take the token that ends a prefill; then the request decodes, or leaves."""
        self.prefilling.remove(sequence)
        again = sequence.emitted > 0
        gap_s = sequence.emit(now_s)
        if again:
            self.gaps.add(gap_s)
        else:
            self.note("first_token", sequence)
        if self.prefix_cache is not None:
            self.prefix_cache.keep(sequence.request)
        if self.memory is not None and sequence.request.prefix and not again:
            self.memory.keep(sequence)
        if sequence.left == 0:
            return [sequence]
        if self.kv_transfer is not None:
            self.leaving.append(sequence)
            self.num_requests -= 1
            self.note("sent", sequence)
        else:
            self.grow(self.blocks(sequence.known) - self.blocks(sequence.cached))
            self.decode_batch.join(sequence, now_s)
        return []

    def _release(self, answered: list[Sequence]) -> list[Sequence]:
        """The requests that may go; those of a static batch go all together."""
        if self.events is not None:
            for sequence in answered:
                self.note("finished", sequence)
        if self.policy.static_batch:
            self.done += answered
            if self.prefilling or len(self.decode_batch):
                return []
            answered, self.done = self.done, []
        for sequence in answered:
            self._return_blocks(sequence, self.held_by(sequence))
            self.note("freed", sequence)
        self.num_requests -= len(answered)
        return answered
