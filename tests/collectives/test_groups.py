"""A group is a cluster of its own: what its members get, and what they are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from llmserve_lab.collectives import ClusterError, Rank, run
from llmserve_lab.collectives.group import across, group
from tests.collectives.on_processes import plain
from tests.collectives.programs import own, swap


def exchanges(rank: Rank, first: int) -> list[Any]:
    """Several collectives on what the ranks from ``first`` on hold."""
    x = own(first + rank.index, 2 * rank.num_ranks, 1 + first)
    return [
        rank.all_reduce(x),
        rank.all_gather(x, axis=1),
        rank.reduce_scatter(x, axis=0),
        rank.broadcast(x, root=rank.num_ranks - 1),
        swap(rank),
    ]


@pytest.mark.parametrize(("num_ranks", "size"), [(4, 2), (6, 3), (6, 1), (3, 3)])
def test_a_group_gets_what_a_cluster_of_its_members_would(
    num_ranks: int, size: int
) -> None:
    def program(rank: Rank) -> list[Any]:
        return exchanges(group(rank, size), rank.index // size * size)

    done = run(program, num_ranks)
    for first in range(0, num_ranks, size):
        alone = run(exchanges, size, first)
        members = slice(first, first + size)
        assert plain(done.results[members]) == plain(alone.results)
        assert done.ledger.records[members] == alone.ledger.records


def test_a_disagreement_names_the_members_of_its_group_alone() -> None:
    def program(rank: Rank) -> None:
        group(rank, 2).all_reduce(np.zeros(1 + (rank.index == 3)))

    with pytest.raises(ClusterError, match=r"rank 2 gave \(1,\), rank 3 gave \(2,\)$"):
        run(program, 4)


@pytest.mark.parametrize("size", [0, 3, 8])
def test_the_size_divides_the_ranks(size: int) -> None:
    message = f"size must divide the number of ranks, 4, got {size}"
    with pytest.raises(ClusterError, match=message):
        run(lambda rank: group(rank, size), 4)


def test_the_size_is_a_whole_number() -> None:
    with pytest.raises(ClusterError, match=r"size must be a whole number, got 2\.0"):
        run(lambda rank: group(rank, 2.0), 4)  # type: ignore[arg-type]


def test_ranks_with_one_place_in_their_groups_meet_across() -> None:
    def program(rank: Rank) -> tuple[int, float]:
        member = across(rank, 3)
        return member.index, float(member.all_reduce(np.array([rank.index]))[0])

    assert run(program, 6).results == ((0, 3), (0, 5), (0, 7), (1, 3), (1, 5), (1, 7))
