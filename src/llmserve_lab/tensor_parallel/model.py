"""A whole model on ranks: block after block, and nothing new to exchange.

Embedding, norms and LM head are on every rank; the blocks are cut. So a forward pass
makes as many collectives as a block does, times the number of layers.
"""

from __future__ import annotations

from collections.abc import Sequence

from llmserve_lab.catalog import ModelShape
from llmserve_lab.cluster import Rank, Run, run
from llmserve_lab.tensor_parallel.article import view_of
from llmserve_lab.tensor_parallel.block import PAIRED, Strategy, block
from llmserve_lab.transformer import Transformer, tiny_shape
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.inputs import token_ids

TOKENS = (5, 17, 3, 42)
SMALL = tiny_shape(n_layers=2, n_heads=8, n_kv_heads=2, d_model=64)


def forward(
    rank: Rank, model: Transformer, tokens: Sequence[int], strategy: Strategy = PAIRED
) -> Array:
    """Token ids [n] of one request → logits [n, V], the same on every rank.

    Raises:
        ValueError, TypeError: the tokens are no ids of the vocabulary, or the model
            cannot be cut for so many ranks.
    """
    rows = model.weights.embedding[token_ids(tokens, vocab=model.shape.vocab)]
    view = view_of(len(rows))
    for index in range(model.shape.n_layers):
        layer = model.weights.layer(index)
        rows = block(rank, rows, layer, model.shape, view, strategy)
    return model.logits(rows)


def execute(
    tp: int, tokens: Sequence[int] = TOKENS, shape: ModelShape = SMALL
) -> Run[Array]:
    """Run :func:`forward` on ``tp`` ranks, a seeded model of ``shape``."""
    return run(forward, tp, Transformer(shape), tokens, PAIRED)


def uncut(tokens: Sequence[int] = TOKENS, shape: ModelShape = SMALL) -> Array:
    """Logits [n, V] of the same model, on no rank at all."""
    return Transformer(shape).forward(tokens)
