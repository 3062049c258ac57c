"""Two-level all-reduce: inside each server, and between servers, executed.

The ranks of a server add up their tensors, so that each has the sums of one share. Then
the ranks with the same share, one in each server, add up these; at last every server
hands all shares round. Only the middle part leaves a server.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.collectives import Rank
from llmserve_lab.collectives.backend import Array
from llmserve_lab.collectives.group import across, group


def two_level_all_reduce(rank: Rank, x: Array, server_ranks: int) -> Array:
    """Sum ``x`` over all ranks, ``server_ranks`` neighbours in each server.

    Raises:
        ValueError: ``server_ranks`` divides neither the ranks nor the length of ``x``.
    """
    inside = group(rank, server_ranks)
    share = inside.reduce_scatter(x, axis=0)
    summed = across(rank, server_ranks).all_reduce(share)
    return inside.all_gather(summed, axis=0)


def eight_numbers(rank: Rank) -> Array:
    """Each rank's number, eight times, summed over servers of four ranks."""
    return two_level_all_reduce(rank, np.full(8, float(rank.index)), 4)
