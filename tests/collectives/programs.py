"""Programs that run on ranks, right and wrong, the same for both backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from llmserve_lab.collectives import Rank
from llmserve_lab.collectives.backend import Array
from tests.collectives import in_groups

Program = Callable[[Rank], Any]


def own(rank: int, *shape: int) -> Array:
    """The tensor of one rank: seeded, of mixed sizes, so that the order shows."""
    rng = np.random.default_rng(rank)
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-8, 8, shape)


def routed(src: int, dst: int) -> int:
    """How many rows one rank has for another: uneven, sometimes none."""
    return (3 * src + 5 * dst) % 4


def ring_all_reduce(rank: Rank, x: Array) -> Array:
    """The textbook's ring: chunks passed to the next rank, added up, passed on."""
    p, i = rank.num_ranks, rank.index
    chunks = [chunk.copy() for chunk in np.array_split(x.reshape(-1), p)]
    beside = {"dst": (i + 1) % p, "src": (i - 1) % p}
    for step in range(1, p):
        chunks[(i - step - 1) % p] += rank.sendrecv(chunks[(i - step) % p], **beside)
    for step in range(1, p):
        chunks[(i - step) % p] = rank.sendrecv(chunks[(i - step + 1) % p], **beside)
    return np.concatenate(chunks).reshape(x.shape)


def pipeline(rank: Rank) -> Array:
    """Each rank adds its own to what comes from below and hands it up."""
    x = own(rank.index, 3)
    if rank.index > 0:
        x = x + rank.recv(src=rank.index - 1)
    if rank.index < rank.num_ranks - 1:
        rank.send(x, dst=rank.index + 1)
    return x


def swap(rank: Rank) -> tuple[Array, tuple[int, ...]]:
    """All-to-all with counts that differ from pair to pair."""
    counts = [routed(rank.index, dst) for dst in range(rank.num_ranks)]
    return rank.all_to_all(own(rank.index, sum(counts), 2), counts)


def silent(rank: Rank) -> None:
    """A barrier alone."""
    rank.barrier()


RIGHT: dict[str, Program] = {
    "all_reduce": lambda rank: rank.all_reduce(own(rank.index, 5, 3)),
    "all_gather": lambda rank: rank.all_gather(own(rank.index, 3, 2), axis=1),
    "reduce_scatter": lambda rank: rank.reduce_scatter(own(rank.index, 2, 8), axis=-1),
    "broadcast": lambda rank: rank.broadcast(own(rank.index, 4), root=1),
    "all_to_all": swap,
    "pipeline": pipeline,
    "ring": lambda rank: ring_all_reduce(rank, own(rank.index, 7)),
    "barrier": silent,
    **in_groups.RIGHT,
}


def _raises(rank: Rank) -> None:
    if rank.index == 1:
        raise ArithmeticError("boom")
    rank.all_reduce([1.0])


def _returns_early(rank: Rank) -> None:
    rank.all_reduce([1.0])
    if rank.index == 0:
        rank.all_gather([1.0], axis=0)


def _other_order(rank: Rank) -> None:
    if rank.index == 0:
        rank.barrier()
    rank.broadcast([1.0], root=0)


def _sends_too_much(rank: Rank) -> None:
    if rank.index == 0:
        rank.send([1.0], dst=1)
        rank.send([2.0], dst=1)
    if rank.index == 1:
        rank.recv(src=0)


def _waits_for_nothing(rank: Rank) -> None:
    if rank.index == 1:
        rank.recv(src=0)
    rank.barrier()


def _waits_for_the_dead(rank: Rank) -> None:
    if rank.index == 0:
        raise KeyError("gone")
    rank.recv(src=rank.index - 1)


def _swallows(rank: Rank) -> str:
    """A rank that catches the error cannot go on as if nothing had been."""
    try:
        _raises(rank)
    except RuntimeError:
        rank.barrier()
    return "went on"


def _shares(rank: Rank) -> None:
    counts = [1] * rank.num_ranks
    counts[0] += rank.index
    rank.all_to_all(np.zeros((rank.num_ranks, 2)), counts)


# Each with what two ranks are told, in the same words on both.
WRONG: dict[str, tuple[Program, str]] = {
    "raise": (
        _raises,
        "rank 1 raised ArithmeticError: boom; "
        "meanwhile rank 0 in all_reduce (collective 1)",
    ),
    "swallow": (
        _swallows,
        "rank 1 raised ArithmeticError: boom; "
        "meanwhile rank 0 in all_reduce (collective 1)",
    ),
    "return": (
        _returns_early,
        "all ranks must call the same collectives in the same order: "
        "rank 0 in all_gather (collective 2), rank 1 done: it returned",
    ),
    "order": (
        _other_order,
        "all ranks must call the same collectives in the same order: "
        "rank 0 in barrier (collective 1), rank 1 in broadcast (collective 1)",
    ),
    "shape": (
        lambda rank: rank.all_reduce(np.ones((4, 3 - rank.index))),
        "all_reduce (collective 1) must have the same shape on every rank: "
        "rank 0 gave (4, 3), rank 1 gave (4, 2)",
    ),
    "dtype": (
        lambda rank: rank.all_gather(np.ones(2, f"f{4 + 4 * rank.index}"), axis=0),
        "all_gather (collective 1) must have the same dtype on every rank: "
        "rank 0 gave float32, rank 1 gave float64",
    ),
    "axis": (
        lambda rank: rank.reduce_scatter(np.ones((4, 4)), axis=rank.index),
        "reduce_scatter (collective 1) must have the same axis on every rank: "
        "rank 0 gave 0, rank 1 gave 1",
    ),
    "root": (
        lambda rank: rank.broadcast([1.0], root=rank.index),
        "broadcast (collective 1) must have the same root on every rank: "
        "rank 0 gave 0, rank 1 gave 1",
    ),
    "row": (
        lambda rank: rank.all_to_all(np.ones((2, 3 + rank.index)), [1, 1]),
        "all_to_all (collective 1) must have the same shape of a row on every rank: "
        "rank 0 gave (3,), rank 1 gave (4,)",
    ),
    "counts": (
        _shares,
        "rank 1 raised ValueError: all_to_all: counts must add up to the rows of x, "
        "2, got [2, 1]; meanwhile rank 0 in all_to_all (collective 1)",
    ),
    "send": (
        _sends_too_much,
        "every send must have its recv: rank 0 sent 2 to rank 1, which received 1",
    ),
    "recv": (
        _waits_for_nothing,
        "no rank can go on: rank 0 in barrier (collective 1), "
        "rank 1 waiting in recv from rank 0",
    ),
    "dead": (
        _waits_for_the_dead,
        "rank 0 raised KeyError: 'gone'; meanwhile rank 1 waiting in recv from rank 0",
    ),
    "everyone": (
        lambda rank: 1 / 0,
        "ranks 0 and 1 raised ZeroDivisionError: division by zero",
    ),
    **in_groups.WRONG,
}
