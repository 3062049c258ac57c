"""Programs that run in groups of two, right and wrong, the same for both backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from llmserve_lab.collectives import Rank
from llmserve_lab.collectives.group import group


def all_of_them(rank: Rank) -> list[Any]:
    """Every collective, with as many rows as the group's number says, and a message."""
    pair = group(group(rank, rank.num_ranks), 2)  # a group may be cut again
    rows = 2 * (1 + rank.index // 2)
    mine = np.full((rows, 2), 10.0**rank.index)
    beside = 1 - pair.index
    return [
        pair.all_reduce(mine),
        pair.all_gather(mine, axis=0),
        pair.reduce_scatter(mine, axis=1),
        pair.all_to_all(mine, [1, rows - 1]),
        pair.broadcast(mine, root=rows // 2 % 2),
        pair.sendrecv(mine, dst=beside, src=beside),
        rank.all_reduce([1.0]),
    ]


def _too_long(rank: Rank) -> None:
    group(rank, 2).all_gather(np.zeros(1 + rank.index % 2), axis=0)


def _too_wide(rank: Rank) -> None:
    group(rank, 2).all_reduce(np.full(3, 100, f"i{1 + 7 * (rank.index % 2)}"))


def _own_root(rank: Rank) -> None:
    rank.barrier()
    group(rank, 2).broadcast([1.0], root=rank.index % 2)


def _own_size(rank: Rank) -> None:
    group(rank, 1 + rank.index % 2).barrier()


def _unread(rank: Rank) -> None:
    pair = group(rank, 2)
    if pair.index == 0:
        pair.send([1.0], dst=1)


RIGHT = {"groups": all_of_them}
WRONG: dict[str, tuple[Callable[[Rank], Any], str]] = {
    "shape in groups": (
        _too_long,
        "all_gather in groups of 2 (collective 1) must have the same shape on every "
        "rank of a group: rank 0 gave (1,), rank 1 gave (2,)",
    ),
    "dtype in groups": (
        _too_wide,
        "all_reduce in groups of 2 (collective 1) must have the same dtype on every "
        "rank of a group: rank 0 gave int8, rank 1 gave int64",
    ),
    "root in groups": (
        _own_root,
        "broadcast in groups of 2 (collective 2) must have the same root on every "
        "rank of a group: rank 0 gave 0, rank 1 gave 1",
    ),
    "size of groups": (
        _own_size,
        "all ranks must call the same collectives in the same order: "
        "rank 0 in barrier in groups of 1 (collective 1), "
        "rank 1 in barrier in groups of 2 (collective 1)",
    ),
    "send in groups": (
        _unread,
        "every send must have its recv: rank 0 sent 1 to rank 1, which received 0",
    ),
}
