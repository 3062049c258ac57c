"""Ring algorithm: every rank talks to one neighbour, and all links carry the same.

A tensor is cut into one chunk per rank. At each step every rank passes a chunk of it to
the next rank and takes one from the rank before. Reduce-scatter: a chunk collects the
sum on its way round and ends where it is owned. All-gather: finished chunks go round
until all have all. All-reduce is one after the other. Broadcast is a pipeline: the
root's tensor goes from neighbour to neighbour in pieces so small that filling the pipe
costs latency alone. All-to-all has no ring: each part goes straight to its rank.

Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations", 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmserve_lab.checks import at_least, whole


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What one rank does on the wire: bytes out, bytes in, steps one after another."""

    sent_bytes: int
    received_bytes: int
    steps: int

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            sent_bytes=self.sent_bytes + other.sent_bytes,
            received_bytes=self.received_bytes + other.received_bytes,
            steps=self.steps + other.steps,
        )


def reduce_scatter(chunk_bytes: Sequence[int], rank: int) -> Traffic:
    """Send every chunk but one's own; take every chunk but the one sent first.

    ``chunk_bytes`` are the sizes of the chunks; chunk i ends, summed, at rank i.
    """
    total = sum(chunk_bytes)
    return Traffic(
        sent_bytes=total - chunk_bytes[rank],
        received_bytes=total - chunk_bytes[rank - 1],
        steps=len(chunk_bytes) - 1,
    )


def all_gather(chunk_bytes: Sequence[int], rank: int) -> Traffic:
    """Send every chunk but the next rank's own; take every chunk but one's own."""
    total, ranks = sum(chunk_bytes), len(chunk_bytes)
    return Traffic(
        sent_bytes=total - chunk_bytes[(rank + 1) % ranks],
        received_bytes=total - chunk_bytes[rank],
        steps=ranks - 1,
    )


def all_reduce(chunk_bytes: Sequence[int], rank: int) -> Traffic:
    """A reduce-scatter and an all-gather of the same chunks."""
    return reduce_scatter(chunk_bytes, rank) + all_gather(chunk_bytes, rank)


def broadcast(tensor_bytes: int, rank: int, *, root: int, num_ranks: int) -> Traffic:
    """Pass the tensor on, but for the last in the pipe; the root takes nothing.

    Raises:
        ValueError: there is no rank, or the tensor has a negative size.
    """
    whole(num_ranks=num_ranks)
    at_least("tensor_bytes", tensor_bytes, 0)
    place = (rank - root) % num_ranks
    return Traffic(
        sent_bytes=tensor_bytes if place < num_ranks - 1 else 0,
        received_bytes=tensor_bytes if place > 0 else 0,
        steps=num_ranks - 1,
    )


def all_to_all(parts_out: Sequence[int], parts_in: Sequence[int], rank: int) -> Traffic:
    """Send each part but one's own straight to its rank: bytes by destination, source.

    The parts go one after another, each to another rank, as many steps as others.
    """
    return Traffic(
        sent_bytes=sum(parts_out) - parts_out[rank],
        received_bytes=sum(parts_in) - parts_in[rank],
        steps=len(parts_out) - 1,
    )
