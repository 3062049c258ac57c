"""A rank knows its number and how many there are; the rest it must be sent.

Every collective is an exchange: each rank cuts what it has into one part per rank, all
parts change hands at once, and each puts together what it got. Sums are taken in the
order of the ranks, so that the same program gives the same bits every time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from llmserve_lab.collectives import ring_algorithm
from llmserve_lab.collectives.arrays import along, cut_points, form, numeric, summable
from llmserve_lab.collectives.backend import Array
from llmserve_lab.collectives.p2p import Endpoint


class Rank(Endpoint):
    """One of ``num_ranks`` ranks, with ``index`` 0, 1, …; :func:`run` makes them.

    Arrays are NumPy arrays of any numeric dtype. What a collective returns is a fresh
    array that no other rank can see. All ranks must call the same collectives in the
    same order.

    Every method raises ValueError or TypeError for arguments that are wrong on this
    rank alone, and :class:`ClusterError` where the ranks do not agree.
    """

    def all_reduce(self, x: ArrayLike) -> Array:
        """Sum ``x`` over all ranks, element by element; all get the sum.

        ``x`` has the same shape and dtype on every rank, and so has the result.
        """
        tensor = summable("all_reduce", x)
        chunks = np.array_split(tensor.reshape(-1), self.num_ranks)
        call = self._call("all_reduce", *form(tensor))
        total = _in_rank_order(self._meet(call, chunks))
        pieces = self._meet(call, [total] * self.num_ranks)
        self._count(call.name, tensor, ring_algorithm.all_reduce, chunks)
        return np.concatenate(pieces).reshape(tensor.shape)

    def all_gather(self, x: ArrayLike, *, axis: int) -> Array:
        """Lay the ranks' ``x`` side by side along ``axis``; all get the whole.

        ``x`` has the same shape and dtype on every rank; the result is ``num_ranks``
        times as long along ``axis``.
        """
        tensor = numeric("all_gather", x)
        axis = along("all_gather", axis, tensor)
        call = self._call("all_gather", *form(tensor), ("axis", axis))
        pieces = self._meet(call, [tensor] * self.num_ranks)
        whole: Array = np.concatenate(pieces, axis=axis)
        self._count(call.name, whole, ring_algorithm.all_gather, pieces)
        return whole

    def reduce_scatter(self, x: ArrayLike, *, axis: int) -> Array:
        """Sum ``x`` over all ranks, cut the sum along ``axis``; each gets its slice.

        ``x`` has the same shape and dtype on every rank, a multiple of ``num_ranks``
        along ``axis``; rank i gets the i-th slice.
        """
        tensor = summable("reduce_scatter", x)
        axis = along("reduce_scatter", axis, tensor)
        if tensor.shape[axis] % self.num_ranks:
            raise ValueError(
                f"reduce_scatter: x must have a multiple of {self.num_ranks} along "
                f"axis {axis}, got shape {tensor.shape}"
            )
        slices = np.split(tensor, self.num_ranks, axis=axis)
        call = self._call("reduce_scatter", *form(tensor), ("axis", axis))
        total = _in_rank_order(self._meet(call, slices))
        self._count(call.name, tensor, ring_algorithm.reduce_scatter, slices)
        return total

    def all_to_all(
        self, x: ArrayLike, counts: Sequence[int]
    ) -> tuple[Array, tuple[int, ...]]:
        """Send the first ``counts[0]`` rows to rank 0, the next ``counts[1]`` to 1, ….

        ``x`` has shape (sum of counts, …), equal beyond the rows on every rank; counts
        may be zero and differ. Returns the rows received, in the order of the ranks
        that sent them, and how many came from each.
        """
        tensor = numeric("all_to_all", x)
        cuts = cut_points("all_to_all", counts, tensor, self.num_ranks)
        parts = np.split(tensor, cuts)
        row = (("shape of a row", tensor.shape[1:]), ("dtype", tensor.dtype.name))
        call = self._call("all_to_all", *row)
        received = self._meet(call, parts)
        sent, came = ([p.nbytes for p in side] for side in (parts, received))
        traffic = ring_algorithm.all_to_all(sent, came, self.index)
        self._keep(call.name, tensor, traffic)
        return np.concatenate(received), tuple(len(part) for part in received)

    def broadcast(self, x: ArrayLike | None, *, root: int) -> Array:
        """Give ``x`` of rank ``root`` to all; what others hand in is not looked at."""
        root = self._known("broadcast: root", root)
        tensor = numeric("broadcast", x) if self.index == root else np.empty(0)
        call = self._call("broadcast", ("root", root))
        found = np.array(self._meet(call, [tensor] * self.num_ranks)[root])
        traffic = ring_algorithm.broadcast(
            found.nbytes, self.index, root=root, num_ranks=self.num_ranks
        )
        self._keep(call.name, found, traffic)
        return found

    def barrier(self) -> None:
        """Wait until every rank has come here: an all-reduce of nothing."""
        call = self._call("barrier")
        nothing = [np.empty(0)] * self.num_ranks
        self._meet(call, nothing)
        self._count(call.name, nothing[0], ring_algorithm.all_reduce, nothing)


def _in_rank_order(parts: Sequence[Array]) -> Array:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
