"""Discrete-event simulation (SimPy) of a bundle: six states, one event after another.

A batch goes round: it waits for Attention, is in Attention, on the wire, waits for the
FFN, is in the FFN, on the wire back. Instances and FFN serve one batch at a time, in
the order of arrival. This is the reference: slow, literal, and without any formula.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from llmserve_lab.afd.simulation.bundle import Bundle, Load
from llmserve_lab.afd.simulation.length_distributions import STEPS
from llmserve_lab.afd.simulation.run import BundleRun
from llmserve_lab.afd.simulation.slots import Requests

Process = Generator[Any, Any, None]


class State(Enum):
    """Where a batch is."""

    WAITS_FOR_ATTENTION = "waits for Attention"
    ATTENTION = "Attention"
    TO_FFN = "on the wire to the FFN"
    WAITS_FOR_FFN = "waits for the FFN"
    FFN = "FFN"
    TO_ATTENTION = "on the wire to Attention"


@dataclass(slots=True)
class Slot:
    """One place in a batch: the request in it, how far it is, and how many steps."""

    prompt: int
    decode: int
    first: int
    begun: int
    age: int
    steps: int


@dataclass
class Machine:
    """One bundle with its batches, its queues and its log.

    ``buffer`` holds requests as (prompt, decode, age), first come, first served.
    """

    bundle: Bundle
    load: Load
    buffer: deque[tuple[int, int, int]]
    log: list[tuple[float, int, State]] = field(default_factory=list)
    attn_s: dict[tuple[int, int], float] = field(default_factory=dict)
    attn_end: dict[tuple[int, int], float] = field(default_factory=dict)
    ffn_end: dict[int, float] = field(default_factory=dict)
    completed: list[tuple[int, ...]] = field(default_factory=list)
    where: dict[int, State] = field(default_factory=dict)

    def run(self, n_steps: int) -> BundleRun:
        """Run, once, until ``n_steps`` steps over all batches are back at Attention."""
        from llmserve_lab.extras import simpy

        if self.log:
            raise ValueError("run must be called once, the requests of a run are gone")
        self.env = simpy.Environment()
        stage = self.bundle.barrier == "stage"
        places = 1 if stage else self.bundle.n_attn
        self.workers = [simpy.Resource(self.env) for _ in range(places)]
        self.ffn = simpy.Resource(self.env)
        rounds = -(-n_steps // self.bundle.n_batches)
        filled = [self._filled() for _ in range(self.bundle.n_batches)]
        for batch, slots in enumerate(filled):
            self.env.process(self._life(batch, slots, rounds))
        self.env.run()
        return self._record(n_steps)

    def _filled(self) -> list[list[Slot]]:
        """The slots of one batch, instance by instance, from the buffer."""
        b = self.bundle
        return [[self._next(0) for _ in range(b.batch)] for _ in range(b.n_attn)]

    def _next(self, step: int) -> Slot:
        if not self.buffer:
            raise ValueError(f"buffer must outlast the run, got none left at {step}")
        prompt, decode, age = self.buffer.popleft()
        steps = int(STEPS[self.load.steps](np.array(decode)))
        return Slot(prompt, decode, step, age, age, steps)

    def _life(self, batch: int, slots: list[list[Slot]], rounds: int) -> Process:
        """What happens to one batch, round after round."""
        half_s = self.bundle.comm_s / 2
        for step in range(rounds):
            n = step * self.bundle.n_batches + batch
            self._enter(batch, State.WAITS_FOR_ATTENTION)
            yield from self._attend(batch, n, slots)
            self._enter(batch, State.TO_FFN)
            yield self.env.timeout(half_s)
            self._enter(batch, State.WAITS_FOR_FFN)
            with self.ffn.request() as turn:
                yield turn
                self._enter(batch, State.FFN)
                yield self.env.timeout(self.bundle.ffn_s)
            self.ffn_end[n] = self.env.now
            self._enter(batch, State.TO_ATTENTION)
            yield self.env.timeout(half_s)
            self._advance(batch, step, slots)

    def _enter(self, batch: int, state: State) -> None:
        if self.where.get(batch) is not state:
            self.where[batch] = state
            self.log.append((self.env.now, batch, state))

    def _attend(self, batch: int, n: int, slots: list[list[Slot]]) -> Process:
        """All instances, each in its own time; the slowest one lets the batch go on."""
        if self.bundle.barrier == "stage":
            with self.workers[0].request() as turn:
                yield turn
                self._enter(batch, State.ATTENTION)
                parts = [self._work(n, i, own) for i, own in enumerate(slots)]
                yield self.env.all_of([self.env.process(part) for part in parts])
            return
        parts = [self._queue(batch, n, i, own) for i, own in enumerate(slots)]
        yield self.env.all_of([self.env.process(part) for part in parts])

    def _queue(self, batch: int, n: int, instance: int, slots: list[Slot]) -> Process:
        """Wait for one instance, then work on it."""
        with self.workers[instance].request() as turn:
            yield turn
            self._enter(batch, State.ATTENTION)
            yield from self._work(n, instance, slots)

    def _work(self, n: int, instance: int, slots: list[Slot]) -> Process:
        # What attention reads: of each request its prompt, and what it has written.
        work_s = self.bundle.attn(sum([slot.prompt + slot.age for slot in slots]))
        yield self.env.timeout(work_s)
        self.attn_s[n, instance] = work_s
        self.attn_end[n, instance] = self.env.now

    def _advance(self, batch: int, step: int, slots: list[list[Slot]]) -> None:
        """Each request grows by a token or makes room for the next one."""
        for instance, own in enumerate(slots):
            for place, slot in enumerate(own):
                slot.age += 1
                if slot.age >= slot.steps:
                    where = (batch, instance, place, slot.first, step)
                    what = (slot.prompt, slot.decode, slot.begun)
                    self.completed.append((*where, *what))
                    own[place] = self._next(step + 1)

    def stays(self) -> Iterator[tuple[int, State, float, float]]:
        """Every stay of a batch in a state: batch, state, from and to, in seconds."""
        since: dict[int, tuple[State, float]] = {}
        for now, batch, state in self.log:
            if batch in since:
                yield batch, *since[batch], now
            since[batch] = state, now

    def _record(self, n_steps: int) -> BundleRun:
        """The log as the arrays that the fast engine writes."""
        columns = np.array(self.completed, dtype=np.int64).reshape(-1, 8).T
        return BundleRun(
            self.bundle,
            self.load,
            self._grid(self.attn_s, n_steps),
            self._grid(self.attn_end, n_steps),
            np.array([self.ffn_end[n] for n in range(n_steps)]),
            Requests(*columns).fcfs(),
        )

    def _grid(self, found: dict[tuple[int, int], float], n_steps: int) -> Any:
        each = range(self.bundle.n_attn)
        return np.array([[found[n, i] for i in each] for n in range(n_steps)])


def serving(bundle: Bundle, load: Load, requests: Requests) -> Machine:
    """A machine whose buffer holds ``requests``; they must outlast the run."""
    r = requests.fcfs()
    rows: Iterable[tuple[int, int, int]] = zip(
        r.prompt.tolist(), r.decode.tolist(), r.age.tolist(), strict=True
    )
    return Machine(bundle, load, deque(rows))


def replay(run: BundleRun) -> Machine:
    """A machine that serves the requests of ``run``."""
    return serving(run.bundle, run.load, run.requests)
