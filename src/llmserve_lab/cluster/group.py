"""Some of the ranks form a group: the same collectives, among its members alone.

All ranks belong to one group of the same cut, and all groups make the same calls at the
same time, each with arrays of its own; between groups nothing is sent. What a member
exchanges goes on its own page of the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from llmserve_lab.cluster.backend import Array, Backend
from llmserve_lab.cluster.meeting import Call, State
from llmserve_lab.cluster.rank import Rank

NOTHING = np.empty(0)


class _Members:
    """A backend among the members of a group, carried by that of all ranks."""

    def __init__(self, backend: Backend, members: Sequence[int]) -> None:
        self.num_ranks = len(members)
        self._backend = backend
        self._members = tuple(members)

    def meet(self, index: int, state: State, parts: Sequence[Any]) -> list[Any]:
        """All groups meet at once; a member takes what members have for it.

        Shapes are those of a group, so only the call is compared between groups.
        """
        if isinstance(state, Call):
            state = Call(f"{state.name} in groups", state.number)
        every = [NOTHING] * self._backend.num_ranks
        for member, part in zip(self._members, parts, strict=True):
            every[member] = part
        came = self._backend.meet(self._members[index], state, every)
        return [came[member] for member in self._members]

    def post(self, src: int, dst: int, array: Array) -> None:
        """See :meth:`llmserve_lab.cluster.backend.Backend.post`."""
        self._backend.post(self._members[src], self._members[dst], array)

    def take(self, dst: int, src: int) -> Array:
        """See :meth:`llmserve_lab.cluster.backend.Backend.take`."""
        return self._backend.take(self._members[dst], self._members[src])


def group(rank: Rank, size: int) -> Rank:
    """The rank as one of ``size`` neighbours: ranks 0 to size − 1, then the next ones.

    Raises:
        ValueError: the ranks cannot be cut into groups of that size.
    """
    if size < 1 or rank.num_ranks % size:
        raise ValueError(
            f"size must divide the number of ranks, {rank.num_ranks}, got {size}"
        )
    first = rank.index // size * size
    backend = _Members(rank._backend, range(first, first + size))
    member = Rank(backend, rank.index - first)
    member.records = rank.records
    return member
