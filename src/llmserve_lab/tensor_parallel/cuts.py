"""One matrix, two cuts: by columns each rank finishes a part, by rows each has a share.

Column-parallel (strategy A of the articles) gives a rank some columns: full rows in,
some features out, glued together by an all-gather. Row-parallel (strategy B) gives it
some rows of the matrix: some features in, a partial sum of every feature out, added up
by an all-reduce.
"""

from __future__ import annotations

from collections.abc import Callable

from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rowwise import linear
from llmserve_lab.transformer.shard import COLUMNS, ROWS, piece

Cut = Callable[[Rank, Array, Array], Array]


def by_columns(rank: Rank, rows: Array, weight: Array) -> Array:
    """Column-parallel: rows [n, d] × weight [d, k] → [n, k], one all-gather."""
    mine = linear(rows, piece(weight, rank, axis=COLUMNS))
    return rank.all_gather(mine, axis=1)


def by_rows(rank: Rank, rows: Array, weight: Array) -> Array:
    """Row-parallel: rows [n, d] × weight [d, k] → [n, k], one all-reduce."""
    features = piece(rows, rank, axis=1)
    return rank.all_reduce(linear(features, piece(weight, rank, axis=ROWS)))


def execute(cut: Cut, tp: int, rows: Array, weight: Array) -> ClusterRun[Array]:
    """Run one cut product on ``tp`` ranks."""
    return run(cut, tp, rows, weight)
