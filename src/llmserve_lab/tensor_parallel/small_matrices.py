"""Small matrices with numbers, cut by columns, by rows, and both, on two ranks.

Each rank writes down what it has before, between and after, so that a figure can show
it. The numbers are small enough to be checked by hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.shard import COLUMNS, ROWS, piece

RANKS, WIDTH = 2, 4
X = np.array([[1.0, 2.0, 3.0, 1.0]])
W = np.array([[1, 0, 2, -1], [0, 1, -1, 2], [2, -1, 0, 1], [1, 2, -3, 0]], dtype=float)
# Two matrices in a chain: two features become four and two again.
NARROW = np.array([[1.0, 2.0]])
UP = np.array([[1, 0, -2, 1], [2, 1, 0, 1]], dtype=float)
DOWN = np.array([[1, 0], [0, 2], [1, 1], [2, 1]], dtype=float)


@dataclass(frozen=True)
class CutProduct:
    """One rank's share: features in, weights, its product, and what all have after."""

    features: Array
    weight: Array
    product: Array
    whole: Array


def columns(rank: Rank, x: Array = X, weight: Array = W) -> CutProduct:
    """Column-parallel: all features in, some outputs finished, an all-gather."""
    mine = piece(weight, rank, axis=COLUMNS)
    product = x @ mine
    return CutProduct(x, mine, product, rank.all_gather(product, axis=1))


def rows(rank: Rank, x: Array = X, weight: Array = W) -> CutProduct:
    """Row-parallel: some features in, a part of every sum, an all-reduce."""
    features, mine = piece(x, rank, axis=1), piece(weight, rank, axis=ROWS)
    product = features @ mine
    return CutProduct(features, mine, product, rank.all_reduce(product))


def relu(x: Array) -> Array:
    """Negative numbers become zero: each number alone, so a part suffices."""
    return np.maximum(x, 0.0)


def paired(rank: Rank) -> tuple[CutProduct, CutProduct]:
    """Column-parallel, then row-parallel: nothing is exchanged between the two."""
    mine = piece(UP, rank, axis=COLUMNS)
    part = relu(NARROW @ mine)
    first = CutProduct(NARROW, mine, part, part)
    below = piece(DOWN, rank, axis=ROWS)
    product = part @ below
    return first, CutProduct(part, below, product, rank.all_reduce(product))


def gathered(rank: Rank) -> tuple[CutProduct, CutProduct]:
    """Column-parallel twice: the second matrix waits for an all-gather."""
    mine = piece(UP, rank, axis=COLUMNS)
    part = relu(NARROW @ mine)
    whole = rank.all_gather(part, axis=1)
    return CutProduct(NARROW, mine, part, whole), columns(rank, whole, DOWN)


def execute_one(cut: str) -> ClusterRun[CutProduct]:
    """Run ``columns`` or ``rows`` on two ranks."""
    return run({"columns": columns, "rows": rows}[cut], RANKS)


def execute_two(cut: str) -> ClusterRun[tuple[CutProduct, CutProduct]]:
    """Run ``paired`` or ``gathered`` on two ranks."""
    return run({"paired": paired, "gathered": gathered}[cut], RANKS)
