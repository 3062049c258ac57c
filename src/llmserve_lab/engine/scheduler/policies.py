"""A policy says, between two iterations, which rows the next one is made of.

It looks at a replica: who decodes, who is in the middle of a prompt, who waits. It may
admit from the head of the queue, and returns a plan. Nothing else differs between a
frozen batch, continuous batching and chunked prefill.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from llmserve_lab.checks import positive, whole
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.timing.cost import MANY, IterationLoad

if TYPE_CHECKING:
    from llmserve_lab.engine.replica import Replica


class Plan(NamedTuple):
    """The next iteration: chunks of prompts, and whether the decoders take part.

    It stays as it is for ``repeats`` iterations (``MANY``: until something happens),
    unless somebody arrives or leaves.
    ``padded`` is the load where it is not just that of the tokens in it.
    """

    chunks: list[tuple[Sequence, int]]
    decode: bool = True
    repeats: int = 1
    padded: IterationLoad | None = None


class Policy(ABC):
    """What every policy offers to the replica that follows it."""

    reserve_output = False  # whether room for all tokens is set aside at admission
    static_batch = False  # whether those who are done wait for the rest of their batch

    @abstractmethod
    def plan(self, replica: Replica) -> Plan:
        """Admit whom there is room for, and say what the next iteration carries."""


@dataclass(frozen=True)
class Static(Policy):
    """Request-level batching: up to ``batch`` go in together and come out together.

    A batch starts with whoever waits. Prompts are padded to the longest, and a slot is
    run until the longest reply is done, whether its own is or not.
    """

    batch: int = 8
    reserve_output = True
    static_batch = True

    def __post_init__(self) -> None:
        whole(batch=self.batch)

    def plan(self, replica: Replica) -> Plan:
        """Open a batch if none is running, else go on with it as it is."""
        if not replica.size:
            replica.open_batch(self.batch)
        slots, width = replica.slots, replica.width
        chunks = [(sequence, sequence.pending) for sequence in replica.prefilling]
        if chunks:
            pairs = slots * IterationLoad.of(chunk=width).pairs
            return Plan(chunks, padded=IterationLoad(slots * width, pairs, 0))
        cached = slots * (width + replica.decode_batch.clock - replica.opened_at)
        return Plan(
            [], repeats=MANY, padded=IterationLoad(slots, cached + slots, cached)
        )


@dataclass(frozen=True)
class Continuous(Policy):
    """Iteration-level batching (ORCA): at each iteration some leave and some join.

    Whoever joins brings the whole prompt. Where prompts and decodes are not ``mixed``,
    prompts go first, and everyone who decodes waits for them. ``reserve_output`` sets
    room for the whole reply aside, so that nobody is ever preempted.
    """

    max_batch: int = 256
    mixed: bool = True
    reserve_output: bool = False

    def __post_init__(self) -> None:
        whole(max_batch=self.max_batch)

    def plan(self, replica: Replica) -> Plan:
        """Admit as many as fit, and run all that is pending."""
        while replica.size < self.max_batch and replica.admit():
            pass
        chunks = [(sequence, sequence.pending) for sequence in replica.prefilling]
        paused = not self.mixed and any(rows > 1 for _, rows in chunks)
        return Plan(chunks, decode=not paused, repeats=1 if chunks else MANY)


@dataclass(frozen=True)
class Chunked(Policy):
    """Chunked prefill (Sarathi): all decodes, and prompts as far as ``budget`` goes.

    An iteration has at most ``budget`` rows, or as many as there are decodes. The
    oldest prompt comes first, and the next one gets what it leaves.
    """

    budget: int = 512
    max_batch: int = 256

    def __post_init__(self) -> None:
        whole(budget=self.budget, max_batch=self.max_batch)

    def plan(self, replica: Replica) -> Plan:
        """Fill the budget with chunks, from prompts begun and then from the queue."""
        chunks: list[tuple[Sequence, int]] = []
        room = self.budget - len(replica.decode_batch)
        while room > 0:
            sequence = replica.next_prompt(len(chunks), self.max_batch)
            if sequence is None:
                break
            rows = min(room, sequence.pending)
            chunks.append((sequence, rows))
            room -= rows
        return Plan(chunks, repeats=self._repeats(chunks))

    @staticmethod
    def _repeats(chunks: list[tuple[Sequence, int]]) -> int:
        """How often the same can follow: while the first prompt lasts, if it is cut."""
        if not chunks:
            return MANY
        sequence, rows = chunks[0]
        return max(1, (sequence.pending - 1) // rows)


@dataclass(frozen=True)
class ChunkedWithin(Policy):
    """Chunked prefill that aims at a gap: the largest chunk that keeps ``tbt_s``.

    The chunk is chosen anew for each iteration, since caches grow. It has at least
    ``least`` rows, or prompts would starve where decodes alone exceed the target.
    """

    tbt_s: float
    max_batch: int = 256
    least: int = 16

    def __post_init__(self) -> None:
        whole(max_batch=self.max_batch, least=self.least)
        positive("tbt_s", self.tbt_s)

    def plan(self, replica: Replica) -> Plan:
        """Add chunks to the decodes for as long as the iteration stays in time."""
        chunks: list[tuple[Sequence, int]] = []
        load = replica.decode_load()
        while self._room(replica, load, 0) > 0 or not chunks:
            sequence = replica.next_prompt(len(chunks), self.max_batch)
            if sequence is None:
                break
            room = self._room(replica, load, sequence.cached)
            rows = min(sequence.pending, room if chunks else max(room, self.least))
            if rows == 0:
                break
            chunks.append((sequence, rows))
            load = load.plus(IterationLoad.of(chunk=rows, context=sequence.cached))
        return Plan(chunks, repeats=1 if chunks else MANY)

    def _room(self, replica: Replica, load: IterationLoad, context: int) -> int:
        return replica.cost.chunk_within(self.tbt_s, load=load, context=context)
