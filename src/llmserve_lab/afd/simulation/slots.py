"""Slot occupancy: which request is in each slot, from which step to which.

Nothing here walks from step to step. A slot's requests follow one another, so their
first steps are cumulative sums, and the load of all slots is a cumulative sum of what
comes and goes: the cost grows with requests plus steps, not with slots times steps.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from llmserve_lab.afd.simulation.bundle import Load
from llmserve_lab.afd.simulation.length_distributions import STEPS, Floats, Ints
from llmserve_lab.checks import whole

MOST_SLOTS = 10**6  # of one batch on one instance


@dataclass(frozen=True, eq=False)
class Requests:
    """One entry a request: where it ran, from step ``first`` to ``last``, its lengths.

    Steps count per batch, from 0; ``age`` tokens had been generated before step 0.
    """

    batch: Ints
    instance: Ints
    slot: Ints
    first: Ints
    last: Ints
    prompt: Ints
    decode: Ints
    age: Ints

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: Ints) -> Requests:
        """Those of the given rows, in their order."""
        return Requests(*(getattr(self, f.name)[rows] for f in fields(self)))

    @staticmethod
    def joined(parts: list[Requests]) -> Requests:
        """Several tables as one."""
        names = [f.name for f in fields(Requests)]
        columns = ([getattr(part, name) for part in parts] for name in names)
        return Requests(*map(np.concatenate, columns))

    def fcfs(self) -> Requests:
        """In the order in which they left the buffer: first come, first served.

        Slots that fall vacant in the same step are filled instance by instance.
        """
        return self.take(np.lexsort((self.slot, self.instance, self.batch, self.first)))

    def load(self, n_steps: int) -> Ints:
        """Tokens that all slots hold together at each step, summed over everything.

        At step k a request holds its prompt and k − first tokens (and those of its
        age): k times the slots in use, and a constant for each request that is there.
        """
        # Its load at step k is prompt + age + (k − first): constant but for k, which
        # all slots share. So two histograms and a running sum replace a table of slots
        # × steps.
        alive = self.prompt + self.age - self.first
        come = _per_step(self.first, alive, n_steps)
        gone = _per_step(self.last + 1, alive, n_steps)
        n_slots = int(np.count_nonzero(self.first == 0))
        total = np.cumsum(come - gone) + n_slots * np.arange(n_steps, dtype=np.float64)
        return total.astype(np.int64)


def _per_step(step: Ints, weight: Ints, n_steps: int) -> Floats:
    """Sum of the weights at each step."""
    inside = step < n_steps
    found: Any = np.bincount(step[inside], weight[inside], minlength=n_steps)
    return found  # type: ignore[no-any-return]


def fill(
    load: Load, *, n_slots: int, n_steps: int, batch: int, instance: int, seed: int
) -> Requests:
    """Fill the slots of one batch on one instance for at least ``n_steps`` steps.

    The same seed gives the same requests, whatever other instances there are.
    """
    whole(of="slot", most=MOST_SLOTS, n_slots=n_slots)
    whole(of="step", n_steps=n_steps)
    rng = np.random.default_rng([seed, batch, instance])
    begin = np.zeros(n_slots, dtype=np.int64)
    behind, parts = np.arange(n_slots), []
    if load.start == "stationary":
        parts.append(_found(load, rng, n_slots))
        begin = parts[0][2] + 1
    mean = load.law.slot(load.steps).steps
    while behind.size:
        # As many as the slot furthest behind needs on average; those that fall short go
        # round again, so that nothing is cut off and little is drawn in vain.
        wide = 1 + int((n_steps - begin[behind].min()) / mean)
        part, ends = _row(load, rng, behind, begin[behind], wide)
        parts.append(part)
        begin[behind] = ends
        behind = behind[ends < n_steps]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    here = (np.full(columns[0].size, place) for place in (batch, instance))
    every = Requests(*here, *columns)
    return every.take(np.flatnonzero(every.first < n_steps))


def _row(
    load: Load, rng: np.random.Generator, slots: Ints, begin: Ints, wide: int
) -> tuple[tuple[Ints, ...], Ints]:
    """``wide`` requests in a row for each slot, from step ``begin`` on."""
    prompt, decode = load.law.draw(rng, slots.size * wide)
    steps = STEPS[load.steps](decode)
    ends = begin[:, None] + np.cumsum(steps.reshape(slots.size, wide), axis=1)
    last = ends.ravel() - 1
    first = last - steps + 1
    none = np.zeros_like(first)
    return (np.repeat(slots, wide), first, last, prompt, decode, none), ends[:, -1]


def _found(load: Load, rng: np.random.Generator, n_slots: int) -> tuple[Ints, ...]:
    """One request for each slot in steady state: a length-biased sample.

    Long requests are found more often, each at any of its steps with equal chances.
    """
    prompt, decode = load.law.length_biased(rng, n_slots, load.steps)
    steps = STEPS[load.steps](decode)
    age = rng.integers(0, steps)
    return np.arange(n_slots), np.zeros_like(age), steps - age - 1, prompt, decode, age
