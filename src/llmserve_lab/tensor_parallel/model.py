"""A whole model on ranks: each runs a smaller model, and adds up with the others.

A rank's share has some heads and some features in every block; embedding, norms and LM
head are on every rank. The one thing to exchange is each half of a block, so a forward
pass makes as many collectives as a block does, times the number of layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from llmserve_lab.catalog import ModelShape
from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.transformer import (
    PLAIN,
    Transformer,
    tiny_latent,
    tiny_moe,
    tiny_shape,
)
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.shard import share

TOKENS = (5, 17, 3, 42)
SMALL = tiny_shape(n_layers=2, n_heads=8, n_kv_heads=2, d_model=64)
KINDS: Mapping[str, ModelShape] = MappingProxyType(
    {
        "grouped queries": SMALL,
        "latent attention": replace(SMALL, attention=tiny_latent(n_heads=8)),
        "experts": replace(SMALL, ffn=tiny_moe()),
    }
)


def forward(rank: Rank, model: Transformer, tokens: Sequence[int]) -> Array:
    """Token ids [n] of one request → logits [n, V], the same on every rank.

    Raises:
        TypeError, ValueError: the tokens are no ids of the vocabulary, or the model
            cannot be cut for so many ranks.
    """
    added_up = replace(PLAIN, reduce=rank.all_reduce)
    return share(model, rank).forward(tokens, run=added_up)


def execute(
    tp: int, tokens: Sequence[int] = TOKENS, shape: ModelShape = SMALL
) -> ClusterRun[Array]:
    """Run :func:`forward` on ``tp`` ranks, a seeded model of ``shape``."""
    return run(forward, tp, Transformer(shape), tokens)


def uncut(tokens: Sequence[int] = TOKENS, shape: ModelShape = SMALL) -> Array:
    """Logits [n, V] of the same model, on no rank at all."""
    return Transformer(shape).forward(tokens)
