"""Process groups: the same collectives, among some of the ranks alone.

All ranks belong to one group of the same size, and all groups make the same calls at
the same time, each with arrays of its own; between groups nothing is sent. What a
member exchanges goes on its own page of the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from llmserve_lab.checks import whole_number
from llmserve_lab.collectives.backend import Array
from llmserve_lab.collectives.rank import Rank
from llmserve_lab.collectives.rendezvous import Call, State

NOTHING = np.empty(0)


class _Members:
    """A backend among the members of a group, carried by a rank of all of them."""

    def __init__(self, rank: Rank, members: Sequence[int]) -> None:
        self.num_ranks = len(members)
        self._rank = rank
        self._members = tuple(members)

    def meet(self, index: int, state: State, parts: Sequence[Any]) -> list[Any]:
        """All groups meet at once; a member takes what members have for it.

        Between groups the call and the size of a group are compared, within one also
        the terms.
        """
        if isinstance(state, Call):
            name = f"{state.name} in groups of {self.num_ranks}"
            size = state.group_size or self.num_ranks  # the inner of two groups
            state = replace(state, name=name, group_size=size)
        every = [NOTHING] * self._rank.num_ranks
        for member, part in zip(self._members, parts, strict=True):
            every[member] = part
        came = self._rank._backend.meet(self._rank.index, state, every)
        return [came[member] for member in self._members]

    def post(self, src: int, dst: int, array: Array) -> None:
        """See :meth:`llmserve_lab.collectives.backend.Backend.post`."""
        self._rank._hand(array, self._members[dst])

    def take(self, dst: int, src: int) -> Array:
        """See :meth:`llmserve_lab.collectives.backend.Backend.take`."""
        return self._rank._fetch(self._members[src])


def group(rank: Rank, size: int) -> Rank:
    """The rank as one of ``size`` neighbours: ranks 0 to size − 1, then the next ones.

    Collectives of a group are numbered on with those of all ranks.

    Raises:
        TypeError: the size is no whole number.
        ValueError: the ranks cannot be cut into groups of that size.
    """
    if whole_number("size", size, first=None) < 1 or rank.num_ranks % size:
        raise ValueError(
            f"size must divide the number of ranks, {rank.num_ranks}, got {size}"
        )
    first = rank.index // size * size
    return _member(rank, range(first, first + size))


def across(rank: Rank, size: int) -> Rank:
    """The rank among those with its place in each group of ``size`` neighbours.

    Raises:
        TypeError: the size is no whole number.
        ValueError: the ranks cannot be cut into groups of that size.
    """
    place = group(rank, size).index
    return _member(rank, range(place, rank.num_ranks, size))


def _member(rank: Rank, members: Sequence[int]) -> Rank:
    """The rank with its number among the members; both write on one page."""
    member = Rank(_Members(rank, members), members.index(rank.index))
    member.records = rank.records
    member._collectives = rank._collectives
    return member
