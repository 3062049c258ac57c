"""The reader's own feed-forward network on four ranks, with one exchange."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llmserve_lab.collectives import ClusterError, Rank, run
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.shard import COLUMNS, ROWS, piece

Mlp = Callable[[Rank, Array, Array, Array], Array]
RANKS, N_ROWS, D_MODEL, D_FF = 4, 3, 8, 32
FLOAT = 8  # bytes of a number in NumPy


def columns_of(weight: Array, rank: Rank) -> Array:
    """The rank's columns of a matrix."""
    return piece(weight, rank, axis=COLUMNS)


def rows_of(weight: Array, rank: Rank) -> Array:
    """The rank's rows of a matrix."""
    return piece(weight, rank, axis=ROWS)


def by_columns_twice(rank: Rank, x: Array, up: Array, down: Array) -> Array:
    """Both matrices column-parallel: right, and it exchanges twice."""
    part = np.maximum(x @ columns_of(up, rank), 0)
    wide = rank.all_gather(part, axis=1)
    return rank.all_gather(wide @ columns_of(down, rank), axis=1)


def columns_then_rows(rank: Rank, x: Array, up: Array, down: Array) -> Array:
    """Column-parallel, then row-parallel: one all-reduce."""
    part = np.maximum(x @ columns_of(up, rank), 0)
    return rank.all_reduce(part @ rows_of(down, rank))


def check(mlp: Mlp) -> str:
    """What is still wrong with a network on ranks, or that all is well."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N_ROWS, D_MODEL))
    up, down = (
        rng.standard_normal((D_MODEL, D_FF)),
        rng.standard_normal((D_FF, D_MODEL)),
    )
    try:
        done = run(mlp, RANKS, x, up, down)
    except ClusterError as error:
        return f"not yet: the ranks stopped: {error}"
    right = np.maximum(x @ up, 0) @ down
    for rank, found in enumerate(done.results):
        if np.shape(found) != right.shape:
            return (
                f"not yet: rank {rank} has shape {np.shape(found)}, not {right.shape}"
            )
        if not np.allclose(found, right):
            return f"not yet: rank {rank} has other numbers than one GPU would"
    calls = done.ledger.calls(rank=0)
    if not calls:
        return "not yet: nothing was exchanged, so a rank must hold whole matrices"
    sent = done.ledger.sent_bytes(rank=0) // FLOAT
    if calls > 1:
        return (
            f"not yet: the numbers are right, but there are {calls} exchanges,\n"
            f"and each GPU sends {sent} numbers; one exchange is enough."
        )
    return f"well done: one exchange, and each GPU sends {sent} numbers."
