"""The block of article 03: four tokens, 512 features, eight heads, and a GeLU FFN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import GeluFfn
from llmserve_lab.checks import MOST_PLAYED, key_of, whole
from llmserve_lab.collectives import Ledger, Rank, run
from llmserve_lab.page.table import Table
from llmserve_lab.tensor_parallel import steps
from llmserve_lab.tensor_parallel.block import STRATEGIES, Layer, block
from llmserve_lab.tensor_parallel.steps import Log, RankStep
from llmserve_lab.transformer import AttentionContext, Block, Packing, Weights, seeded
from llmserve_lab.transformer.arithmetic import Array

N_ROWS = 4
SHAPE = ModelShape(
    name="the article's block",
    key="article-03",
    source="the example of the chapter's source",
    n_layers=1,
    d_model=512,
    vocab=64,
    attention=GroupedQueryAttention(n_heads=8, n_kv_heads=8, d_head=64),
    ffn=GeluFfn(d_ff=2048),
    norm="layer",
)


@dataclass(frozen=True)
class ExecutedCut:
    """Output [n, d] of every rank, the steps of every rank, and what was exchanged."""

    strategy: str
    outputs: tuple[Array, ...]
    steps: tuple[tuple[RankStep, ...], ...]
    ledger: Ledger

    @property
    def table(self) -> Table:
        """Table of all steps with one column for each rank."""
        caption = f"{STRATEGIES[self.strategy].name}, {len(self.steps)} ranks"
        return steps.table(caption, self.steps)


def batch(shape: ModelShape = SHAPE, n_rows: int = N_ROWS, seed: int = 0) -> Array:
    """Seeded rows [n, d] that a block takes in."""
    whole(of="row", first=0, most=MOST_PLAYED, n_rows=n_rows)
    return np.random.default_rng(seed).standard_normal((n_rows, shape.d_model))


def view_of(n_rows: int) -> AttentionContext:
    """The rows are one request, from its first token on."""
    packing = Packing((0, n_rows), (0,))
    return AttentionContext(packing, packing.positions)


@cache
def layer_of(shape: ModelShape, seed: int = 0) -> Layer:
    """Seeded weights of the first block of a model; not to be written to."""
    return Weights(shape, seeded(shape, seed)).layer(0)


def uncut(rows: Array, shape: ModelShape = SHAPE, seed: int = 0) -> Array:
    """Rows [n, d] through the whole block, on no rank at all."""
    layer = layer_of(shape, seed)
    return Block(shape=shape)(rows, layer, view_of(len(rows)))


def execute(
    strategy: str, tp: int, rows: Array, *, shape: ModelShape = SHAPE, seed: int = 0
) -> ExecutedCut:
    """Run one block on ``tp`` ranks; ``strategy`` is ``gathered`` or ``paired``.

    Raises:
        ClusterError: the model cannot be cut for so many ranks; its cause says why.
        ValueError: the strategy has no such name.
    """
    key_of("strategy", strategy, STRATEGIES)
    layer = layer_of(shape, seed)
    view = view_of(len(rows))

    def on_rank(rank: Rank) -> tuple[Array, Sequence[RankStep]]:
        log = Log()
        how = STRATEGIES[strategy]
        return block(rank, rows, layer, shape, view, how, log), log.steps

    done = run(on_rank, tp)
    outputs, taken = zip(*done.results, strict=True)
    return ExecutedCut(strategy, outputs, tuple(map(tuple, taken)), done.ledger)
