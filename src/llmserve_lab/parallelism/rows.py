"""Rows shared out between the halves of a block: sequence and data parallelism.

Tensor parallelism adds up with an all-reduce, after which every rank has every row.
Sequence parallelism does it in two steps, a reduce-scatter and an all-gather, and
between the two each rank has some of the rows: norms and residuals are done once.
Data-parallel attention goes further: each rank has requests of its own, whole heads
and a whole cache for them, and only the FFN is cut.

Source: Korthikanti et al., arXiv 2205.05198, section 4.2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.transformer import (
    PLAIN,
    AttentionContext,
    KVCache,
    Transformer,
    cumulative,
)
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.attention_context import Entries
from llmserve_lab.transformer.cache_session import CacheSession
from llmserve_lab.transformer.ffn import ffn
from llmserve_lab.transformer.grouped_query import grouped_query
from llmserve_lab.transformer.inputs import rotary_positions, token_ids
from llmserve_lab.transformer.latent import latent_attention
from llmserve_lab.transformer.packing import Packing
from llmserve_lab.transformer.rowwise import norm
from llmserve_lab.transformer.shard import check_degree, piece, share

Backend = Literal["lockstep", "mpi"]


def sequence_on_rank(rank: Rank, model: Transformer, tokens: npt.ArrayLike) -> Array:
    """Logits [n/g, V] of this rank's rows; heads and features are cut as in TP."""
    ids = token_ids(tokens, vocab=model.shape.vocab)
    part = share(model, rank)
    rows = piece(model.weights.embedding[ids], rank, axis=0)
    view = AttentionContext(Packing((0, len(ids)), (0,)), np.arange(len(ids)))
    for layer in range(model.shape.n_layers):
        weights = part.weights.layer(layer)
        normed = rank.all_gather(_normed(rows, weights, "input_layernorm"), axis=0)
        delta = _attended(part, normed, weights, view)
        rows = rows + rank.reduce_scatter(delta, axis=0)
        rows = rows + _ffn_of_all(rank, part, rows, weights)
    return model.logits(rows)


def sequence_parallel(
    model: Transformer,
    tokens: Sequence[int],
    num_ranks: int,
    *,
    backend: Backend = "lockstep",
) -> ClusterRun[Array]:
    """Tensor parallelism whose rows are shared out between the halves of a block.

    Raises:
        ValueError: heads or features cannot be dealt out, or the ranks do not divide
            the tokens.
    """
    check_degree(model.shape, num_ranks)
    if len(tokens) % num_ranks:
        raise ValueError(
            f"tokens must be a multiple of num_ranks, {num_ranks}, got {len(tokens)}"
        )
    return run(sequence_on_rank, num_ranks, model, tuple(tokens), backend=backend)


def reduced_on_rank(rank: Rank, model: Transformer, tokens: npt.ArrayLike) -> Array:
    """Logits [n, V] of every row: plain tensor parallelism, to compare with."""
    added_up = replace(PLAIN, reduce=rank.all_reduce)
    return share(model, rank).forward(tokens, run=added_up)


def tensor_parallel(
    model: Transformer, tokens: Sequence[int], num_ranks: int
) -> ClusterRun[Array]:
    """The same model, every row on every rank, added up by all-reduces.

    Raises:
        ValueError: heads or features cannot be dealt out.
    """
    check_degree(model.shape, num_ranks)
    return run(reduced_on_rank, num_ranks, model, tuple(tokens))


def data_on_rank(
    rank: Rank,
    model: Transformer,
    requests: Sequence[Sequence[Sequence[int]]],
    caches: Sequence[Sequence[KVCache]] | None = None,
) -> Array:
    """Logits [n, V] of this rank's requests: whole attention, cut FFN."""
    mine = requests[rank.index]
    part = share(model, rank)
    ids = token_ids([token for one in mine for token in one], vocab=model.shape.vocab)
    own = None if caches is None else caches[rank.index]
    past = CacheSession(model.shape, cumulative([len(one) for one in mine]), own)
    turned = rotary_positions(None, past.packing, n_rows=len(ids))
    rows = model.weights.embedding[ids]
    for layer in range(model.shape.n_layers):
        whole, cut = model.weights.layer(layer), part.weights.layer(layer)
        view = AttentionContext(past.packing, turned, recall=past.of_layer(layer))
        rows = rows + model.block.attention_half(rows, whole, view)
        rows = rows + _ffn_of_all(rank, part, rows, cut)
    past.write()
    return model.logits(rows)


def data_parallel_attention(
    model: Transformer,
    requests: Sequence[Sequence[Sequence[int]]],
    *,
    caches: Sequence[Sequence[KVCache]] | None = None,
    backend: Backend = "lockstep",
) -> ClusterRun[Array]:
    """Run ``requests[rank]`` on each rank, with ``caches[rank]`` if they go on.

    Raises:
        ValueError: features cannot be dealt out, or ranks have unlike numbers of rows
            (an engine fills up with rows of nothing).
    """
    check_degree(model.shape, len(requests))
    rows = [sum(map(len, mine)) for mine in requests]
    if len(set(rows)) > 1 or not rows[0]:
        raise ValueError(
            "requests must have equally many rows on every rank, at least 1, "
            f"got {rows}"
        )
    return run(data_on_rank, len(requests), model, requests, caches, backend=backend)


def _attended(
    part: Transformer, normed: Array, weights: Entries, view: AttentionContext
) -> Array:
    """What some heads add to rows [n, d] that are normed already: a part of the sum."""
    spec = part.shape.attention
    if isinstance(spec, LatentAttention):
        absorbed = part.block.absorbed
        return latent_attention(normed, weights, spec, view, absorbed=absorbed)
    return grouped_query(normed, weights, spec, view)


def _ffn_of_all(rank: Rank, part: Transformer, rows: Array, weights: Entries) -> Array:
    """FFN of this rank's rows: all rows come together, and each sum goes home."""
    normed = _normed(rows, weights, "post_attention_layernorm")
    every = rank.all_gather(normed, axis=0)
    delta = ffn(every, weights, part.shape.ffn, scores=part.block.router_scores)
    return rank.reduce_scatter(delta, axis=0)


def _normed(rows: Array, weights: Entries, name: str) -> Array:
    return norm(rows, weights[name], weights.get(f"{name}.bias"))
