"""Scheduling policies: between two iterations, what the next one is made of.

Static batching, continuous batching and chunked prefill differ here and nowhere else.
A :class:`Policy` says how many rows of which request an iteration runs; its
:class:`~llmserve_lab.engine.scheduler.queue_order.Order` says which request is admitted
next and which is preempted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from llmserve_lab.checks import of_type, positive, whole
from llmserve_lab.engine.scheduler.queue_order import FCFS, Order
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.scheduler.state import BatchState
from llmserve_lab.engine.timing.cost import MANY
from llmserve_lab.engine.timing.load import IterationLoad


class Plan(NamedTuple):
    """The next iteration: chunks of prompts as (request, rows), and decode or not.

    ``repeats`` such iterations may follow each other (``MANY``: until something
    happens). ``padded`` is the load where it is not that of the tokens alone. While it
    ``waits``, requests that could be admitted are kept back for company.
    """

    chunks: list[tuple[Sequence, int]]
    decode: bool = True
    repeats: int = 1
    padded: IterationLoad | None = None
    waits: bool = False


class Policy(ABC):
    """What every scheduling policy offers to the replica that follows it.

    **It is asked** for a plan whenever an iteration has ended and something may have
    changed: a request has arrived, started, finished or been preempted.

    **It may read** of the :class:`BatchState`: ``waiting``, ``prefilling``,
    ``len(decode_batch)``, ``decode_rows``, ``decode_load()``, ``running()``,
    ``youngest()``, ``size``, ``cached``, ``free_blocks``, ``num_blocks``, ``blocks()``,
    ``cost``; ``end_s``, which is now; ``waited``, the iterations in a row whose plans
    said ``waits``.
    Of a request in it: ``request``, ``known``, ``cached``, ``pending``, ``emitted``,
    ``left``, ``preemptions``, ``number`` (the order of admission); those of a decoding
    request are up to date only as ``running()`` returns it. **It may call**
    ``next_waiting()``, ``admit()``, ``next_prompt()`` and, with ``static_batch``,
    ``open_batch()``. It changes nothing else and keeps no state: one policy object
    serves all replicas.

    **``Plan.repeats`` promises** that so many iterations in a row would be planned
    alike, each chunk beginning where the last one ended, for as long as no request
    arrives, finishes or is preempted and no block runs out. The engine leaps over them
    in one step and asks again at the next boundary when one of these happens. If in
    doubt, 1: the times are the same, and only the simulation is slower.
    """

    order: Order = FCFS  # which request is admitted next, which is preempted
    reserve_output = False  # whether room for all tokens is set aside at admission
    static_batch = False  # whether requests that are done wait for their batch

    @abstractmethod
    def plan(self, state: BatchState) -> Plan:
        """Admit the requests there is room for; say what the next iteration runs."""


@dataclass(frozen=True)
class Static(Policy):
    """Static (request-level) batching: up to ``batch`` requests start and end together.

    A batch starts with the requests that wait. Prompts are padded to the longest, and
    each slot runs until the longest output is done (the straggler), its own or not.
    """

    batch: int = 8
    _: KW_ONLY
    order: Order = FCFS
    reserve_output = True
    static_batch = True

    def __post_init__(self) -> None:
        whole(batch=self.batch)
        of_type(Order, order=self.order)

    def plan(self, state: BatchState) -> Plan:
        """Open a batch if none is running, else go on with it as it is."""
        if not state.size:
            state.open_batch(self.batch)
        slots, width = state.slots, state.width
        chunks = [(sequence, sequence.pending) for sequence in state.prefilling]
        if chunks:
            pairs = slots * IterationLoad.of(chunk=width).pairs
            load = IterationLoad(slots * width, pairs, 0, slots, slots)
            return Plan(chunks, padded=load)
        cached = slots * (width + state.decode_batch.clock - state.opened_at)
        return Plan(
            [],
            repeats=MANY,
            padded=IterationLoad(slots, cached + slots, cached, slots),
        )


@dataclass(frozen=True)
class Continuous(Policy):
    """Continuous (iteration-level) batching: requests join and leave every iteration.

    A request joins with its whole prompt. Where prefill and decode are not ``mixed``,
    prompts go first, and all decodes wait for them. ``reserve_output`` sets room for
    the whole output aside, so that no request is ever preempted.
    """

    max_batch: int = 256
    mixed: bool = True
    reserve_output: bool = False
    _: KW_ONLY
    order: Order = FCFS

    def __post_init__(self) -> None:
        whole(max_batch=self.max_batch)
        of_type(bool, mixed=self.mixed, reserve_output=self.reserve_output)
        of_type(Order, order=self.order)

    def plan(self, state: BatchState) -> Plan:
        """Admit as many as fit, and run all that is pending."""
        while state.size < self.max_batch and state.admit():
            pass
        chunks = [(sequence, sequence.pending) for sequence in state.prefilling]
        decode = self.mixed or all(rows == 1 for _, rows in chunks)
        return Plan(chunks, decode, repeats=1 if chunks else MANY)


@dataclass(frozen=True)
class ContinuousWithBudget(Continuous):
    """Continuous batching of whole prompts within a token budget.

    An iteration has at most ``max_num_batched_tokens`` rows: a prompt that does not fit
    whole waits for the next. With ``batch_wait``, prompts that would interrupt decodes
    wait for company, for so many iterations at most, or until the iteration would fill
    the share ``wait_until_full`` of that budget.

    Raises:
        ValueError: a count is below 1, a share is not in (0, 1], or (while it runs) a
            prompt is longer than the budget.
    """

    _: KW_ONLY
    max_num_batched_tokens: int
    batch_wait: int = 0
    wait_until_full: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(first=0, batch_wait=self.batch_wait)
        whole(max_num_batched_tokens=self.max_num_batched_tokens)
        of_type(int | float, wait_until_full=self.wait_until_full)
        if not 0 < self.wait_until_full <= 1:
            raise ValueError(
                f"wait_until_full must be in (0, 1], got {self.wait_until_full}"
            )

    def plan(self, state: BatchState) -> Plan:
        """Wait for company, or admit as far as the budget goes."""
        decodes = len(state.decode_batch) * state.decode_rows if self.mixed else 0
        room = self.max_num_batched_tokens - decodes
        if decodes and self._waits(state, room):
            # free blocks shrink while it waits, unless they are reserved
            repeats = self.batch_wait - state.waited if self.reserve_output else 1
            return Plan([], repeats=repeats, waits=True)
        while state.size < self.max_batch and self._fits(state, room):
            sequence = state.admit()
            if sequence is None:
                break
            room -= sequence.pending
        chunks = [(sequence, sequence.pending) for sequence in state.prefilling]
        decode = self.mixed or all(rows == 1 for _, rows in chunks)
        return Plan(chunks, decode, repeats=1 if chunks else MANY)

    def _fits(self, state: BatchState, room: int) -> bool:
        """Whether the request that is next leaves the iteration within its budget."""
        sequence, most = state.next_waiting(), self.max_num_batched_tokens
        if sequence is None:
            return False
        if sequence.pending > most:
            raise ValueError(
                f"request {sequence.request.id} must have at most "
                f"max_num_batched_tokens = {most} tokens to run, got {sequence.pending}"
            )
        return sequence.pending <= room

    def _waits(self, state: BatchState, room: int) -> bool:
        """Whether prompts that could be admitted are kept back for company.

        They are counted in the order of the queue, as far as blocks and budget go.
        """
        if state.waited >= self.batch_wait:
            return False
        budget, slots = room, self.max_batch - state.size
        free, company = state.free_blocks, 0
        for sequence in state.waiting:
            free -= state.blocks_to_admit(sequence)
            if slots == 0 or free < 0 or sequence.pending > budget - company:
                break
            slots, company = slots - 1, company + sequence.pending
        rows = company + len(state.decode_batch) * state.decode_rows
        full = self.wait_until_full * self.max_num_batched_tokens
        return company > 0 and rows < full


@dataclass(frozen=True)
class Chunked(Policy):
    """Chunked prefill (Sarathi-Serve): all decodes, then prompts up to a token budget.

    An iteration has at most ``budget`` rows, or as many as there are decodes. The
    oldest prompt comes first, and the next one gets what it leaves. With a ``cap`` no
    prompt has more rows of an iteration than that (vLLM does not cap a lone request).
    """

    budget: int = 512
    max_batch: int = 256
    _: KW_ONLY
    cap: int | None = None
    order: Order = FCFS

    def __post_init__(self) -> None:
        whole(budget=self.budget, max_batch=self.max_batch)
        if self.cap is not None:
            whole(cap=self.cap)
        of_type(Order, order=self.order)

    def plan(self, state: BatchState) -> Plan:
        """Fill the budget with chunks, from prompts begun and then from the queue."""
        chunks: list[tuple[Sequence, int]] = []
        room = self.budget - len(state.decode_batch) * state.decode_rows
        while room > 0:
            sequence = state.next_prompt(len(chunks), self.max_batch)
            if sequence is None:
                break
            rows = min(room, sequence.pending, self.cap or room)
            chunks.append((sequence, rows))
            room -= rows
        return Plan(chunks, repeats=self._repeats(chunks))

    @staticmethod
    def _repeats(chunks: list[tuple[Sequence, int]]) -> int:
        """How often the same can follow: until the first of the prompts is complete."""
        if not chunks:
            return MANY
        return max(1, min((each.pending - 1) // rows for each, rows in chunks))


@dataclass(frozen=True)
class ChunkedWithin(Policy):
    """Chunked prefill with a TBT target: the largest chunk that keeps ``tbt_s``.

    The chunk is chosen anew for each iteration, since caches grow. It has at least
    ``least`` rows, or prompts would starve where decodes alone exceed the target.
    """

    tbt_s: float
    max_batch: int = 256
    least: int = 16
    _: KW_ONLY
    order: Order = FCFS

    def __post_init__(self) -> None:
        whole(max_batch=self.max_batch, least=self.least)
        of_type(Order, order=self.order)
        positive("tbt_s", self.tbt_s)

    def plan(self, state: BatchState) -> Plan:
        """Add chunks to the decodes for as long as the iteration stays in time."""
        chunks: list[tuple[Sequence, int]] = []
        load = state.decode_load()
        while self._room(state, load, 0) > 0 or not chunks:
            sequence = state.next_prompt(len(chunks), self.max_batch)
            if sequence is None:
                break
            room = self._room(state, load, sequence.cached)
            rows = min(sequence.pending, room if chunks else max(room, self.least))
            if rows == 0:
                break
            chunks.append((sequence, rows))
            load = load.plus(IterationLoad.of(chunk=rows, context=sequence.cached))
        return Plan(chunks, repeats=1 if chunks else MANY)

    def _room(self, state: BatchState, load: IterationLoad, context: int) -> int:
        return state.cost.chunk_within(self.tbt_s, load=load, context=context)
