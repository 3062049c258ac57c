"""The cuts of articles 02 and 03, carried out: what their claims are held against."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from llmserve_lab.checks import key_of
from llmserve_lab.claims.sources import SOURCES
from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.tensor_parallel import article, midhead
from llmserve_lab.tensor_parallel.cuts import by_columns, by_rows
from llmserve_lab.tensor_parallel.steps import RankStep
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rowwise import softmax

TP = 2
N_BLOCKS = 32
CLOSE = 1e-12  # of numbers near 1, in float64
Cut = Callable[[Rank, Array, Array], Array]


@cache
def layer(cut: Cut) -> ClusterRun[Array]:
    """One matrix as square as the article's output projection, cut over two ranks."""
    return run(cut, TP, article.batch(), np.eye(article.SHAPE.d_model))


@cache
def executed(strategy: str) -> article.ExecutedCut:
    """The article's block on two ranks."""
    return article.execute(strategy, TP, article.batch())


def step(strategy: str, name: str) -> RankStep:
    """The step of the first rank whose name begins so."""
    steps = executed(strategy).steps[0]
    for each in steps:
        if each.name.startswith(name):
            return each
    names = ", ".join(each.name for each in steps)
    raise ValueError(f"name must begin one of {names}, got {name!r}")


def weight(strategy: str, name: str, axis: int, *, ranks: int = 1) -> float:
    """One side of a weight on one rank, times the ranks that hold such a part."""
    shape = step(strategy, name).weight
    assert shape is not None
    key_of("axis", axis, range(len(shape)))
    return float(shape[axis] * ranks)


def calls(strategy: str) -> float:
    """Exchanges of a block, as each rank made them."""
    return float(executed(strategy).ledger.calls(rank=0))


def sent(strategy: str) -> float:
    """Bytes that left a rank in a block."""
    return float(executed(strategy).ledger.sent_bytes(rank=0))


def reduce_over_gather() -> float:
    """Bytes that leave a rank in an all-reduce, over a gather of the same tensor."""
    rows, columns = (
        layer(cut).ledger.sent_bytes(rank=0) for cut in (by_rows, by_columns)
    )
    return rows / columns


def equals_the_matrix(cut: Cut) -> bool:
    """Whether each rank ends with rows times matrix, which here are the rows."""
    return all(np.abs(x - article.batch()).max() < CLOSE for x in layer(cut).results)


@cache
def head_cut_through(synced: bool = True) -> tuple[ClusterRun[Array], float]:
    """One head of the article's width, cut over two ranks: the run and its error."""
    weights = midhead.projections(article.SHAPE.d_model, 1)
    rows = article.batch()
    return (
        midhead.execute(TP, rows, weights, synced=synced),
        midhead.error(TP, rows, weights, synced=synced),
    )


def calls_cut_through() -> float:
    """Exchanges of a block whose attention is cut inside a head."""
    attention = head_cut_through()[0].ledger.calls(rank=0)
    return attention + calls("paired") / TP


def scores_are_added_up() -> bool:
    """Whether the first exchange is of n × n scores, and leaving it out is wrong."""
    record = head_cut_through()[0].ledger.records[0][0]
    right, wrong = (head_cut_through(synced)[1] for synced in (True, False))
    return record.shape == (1, article.N_ROWS, article.N_ROWS) and right < CLOSE < wrong


def softmax_gap() -> float:
    """Largest difference between the softmax of a sum and the sum of softmaxes."""
    one, other = article.batch()[:1, :4], article.batch()[1:2, :4]
    return float(np.abs(softmax(one) + softmax(other) - softmax(one + other)).max())


def block_gap() -> float:
    """Largest difference between the block on ranks and the block on none."""
    right = article.uncut(article.batch())
    outputs = (x for name in ("gathered", "paired") for x in executed(name).outputs)
    return max(float(np.abs(x - right).max()) for x in outputs)


def introduces_the_cuts() -> str:
    """The article whose title is about tensor parallelism and building it."""
    return next(each.name for each in SOURCES.values() if "Scratch" in each.title)
