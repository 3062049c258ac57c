"""Ring collectives chunk by chunk: each step written down as it was executed.

The collectives of :class:`~llmserve_lab.collectives.rank.Rank` hand everything over at
once and count what a ring would have sent. Here the chunks really go round, from
neighbour to neighbour, so that a figure can show where each of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.collectives.backend import MOST_RANKS, Array
from llmserve_lab.collectives.launch import run
from llmserve_lab.collectives.rank import Rank

Held = tuple[float | None, ...]


@dataclass(frozen=True)
class RingStep:
    """What one rank holds after a step, and which chunks came in and went out.

    ``held`` has a number for each chunk, None where the rank has nothing of it.
    ``sent_bytes`` counts from the start.
    """

    held: Held
    came: tuple[int, ...] = ()
    went: tuple[int, ...] = ()
    sent_bytes: int = 0


class Logged:
    """A rank's chunks, one number each, with a log of what it held after each step."""

    def __init__(self, rank: Rank, held: Sequence[float | None]) -> None:
        self.rank, self.held = rank, list(held)
        self.steps = [RingStep(tuple(held))]

    def pass_on(self, out: int, into: int, *, add: bool) -> None:
        """Send chunk ``out`` to the next rank, take ``into`` from the one before."""
        ranks, here = self.rank.num_ranks, self.rank.index
        given = np.array([self.held[out]], dtype=np.float64)
        came = self.rank.sendrecv(given, dst=(here + 1) % ranks, src=(here - 1) % ranks)
        before = self.held[into] if add else None
        self.held[into] = float(came[0]) + (before or 0.0)
        self.note((into,), (out,))

    def note(self, came: tuple[int, ...], went: tuple[int, ...]) -> None:
        """Write the step down."""
        sent = sum(record.wire.sent_bytes for record in self.rank.records)
        self.steps.append(RingStep(tuple(self.held), came, went, sent))


def reduce_scatter(log: Logged) -> None:
    """Chunks collect their sums on the way; rank i ends with the sum of chunk i + 1."""
    ranks, here = log.rank.num_ranks, log.rank.index
    for step in range(ranks - 1):
        log.pass_on((here - step) % ranks, (here - step - 1) % ranks, add=True)


def all_gather(log: Logged) -> None:
    """Finished chunks go round until every rank has all; rank i begins with i + 1."""
    ranks, here = log.rank.num_ranks, log.rank.index
    for step in range(ranks - 1):
        log.pass_on((here + 1 - step) % ranks, (here - step) % ranks, add=False)


def all_reduce(log: Logged) -> None:
    """A reduce-scatter, then an all-gather of its sums."""
    reduce_scatter(log)
    all_gather(log)


def one_shot(log: Logged) -> None:
    """Every rank sends its whole tensor to each other at once, and adds up itself."""
    others = [i for i in range(log.rank.num_ranks) if i != log.rank.index]
    mine = np.array(log.held, dtype=np.float64)
    for other in others:
        log.rank.send(mine, dst=other)
    total: Array = sum((log.rank.recv(src=other) for other in others), mine)
    log.held = [float(each) for each in total]
    every = tuple(range(len(total)))
    log.note(every, every)


def two_shot(log: Logged) -> None:
    """Every rank adds up one chunk from all others, then all read all sums."""
    ranks, here = log.rank.num_ranks, log.rank.index
    others = [i for i in range(ranks) if i != here]
    mine = np.array(log.held, dtype=np.float64)
    for other in others:
        log.rank.send(mine[other : other + 1], dst=other)
    parts = [float(log.rank.recv(src=other)[0]) for other in others]
    log.held[here] = float(mine[here]) + sum(parts)
    log.note((here,), tuple(others))
    for other in others:
        log.rank.send(np.array([log.held[here]], dtype=np.float64), dst=other)
    for other in others:
        log.held[other] = float(log.rank.recv(src=other)[0])
    log.note(tuple(others), (here,))


def in_switch(log: Logged) -> None:
    """The last rank stands for the switch: it adds all tensors and returns the sum."""
    ranks, here = log.rank.num_ranks, log.rank.index
    switch, every = ranks - 1, tuple(range(len(log.held)))
    mine = np.array(log.held, dtype=np.float64)
    if here == switch:
        tensors = [log.rank.recv(src=other) for other in range(switch)]
        log.held = [float(each) for each in sum(tensors, np.zeros_like(mine))]
        log.note(every, ())
        for other in range(switch):
            log.rank.send(np.array(log.held, dtype=np.float64), dst=other)
        log.note((), every)
        return
    log.rank.send(mine, dst=switch)
    log.note((), every)
    log.held = [float(each) for each in log.rank.recv(src=switch)]
    log.note(every, ())


def numbers(ranks: int, *, gathered: bool = False) -> list[list[float | None]]:
    """Chunk c of rank r holds (r + 1)(c + 1); for an all-gather, one finished sum."""
    whole(of="rank", most=MOST_RANKS, ranks=ranks)
    own: list[list[float | None]] = [
        [float((rank + 1) * (chunk + 1)) for chunk in range(ranks)]
        for rank in range(ranks)
    ]
    if not gathered:
        return own
    sums = [float(sum(column)) for column in np.array(own).T]
    return [
        [sums[c] if c == (rank + 1) % ranks else None for c in range(ranks)]
        for rank in range(ranks)
    ]


def play(
    collective: Callable[[Logged], None], start: Sequence[Sequence[float | None]]
) -> tuple[tuple[RingStep, ...], ...]:
    """Steps of every rank, executed: ``[rank][step]``."""

    def on_rank(rank: Rank) -> tuple[RingStep, ...]:
        log = Logged(rank, start[rank.index])
        collective(log)
        return tuple(log.steps)

    return run(on_rank, len(start)).results
