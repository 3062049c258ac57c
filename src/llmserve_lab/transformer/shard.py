"""Tensor-parallel shard: a rank's share of a model is a model with fewer heads.

What widens a row (query, key, value, up, gate) is cut by columns. What narrows it
again (output, down) is cut by rows where partial sums are added up, and by columns
where everything is gathered. Embedding, norms, latents, router and LM head are small,
or serve all heads, and every rank has them whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, Protocol

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import Attention, GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import Ffn, MoeFfn
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.model import Transformer
from llmserve_lab.transformer.weights import Weights

Axis = Literal[-2, -1]
Arrays = Mapping[str, Array]
ROWS: Axis = -2
COLUMNS: Axis = -1
WIDENING = ("q_proj", "q_b_proj", "kv_b_proj", "gate_proj", "up_proj")
CACHED = ("k_proj", "v_proj")
NARROWING = ("o_proj", "down_proj")


class RankInfo(Protocol):
    """Which of how many ranks; every :class:`llmserve_lab.collectives.Rank` is one."""

    @property
    def index(self) -> int:
        """0, 1, … up to ``num_ranks`` − 1."""

    @property
    def num_ranks(self) -> int:
        """How many ranks there are."""


def share(model: Transformer, seat: RankInfo) -> Transformer:
    """The model that one rank holds, a view of the weights of the whole one.

    It runs like any other, with its own KV cache for its own heads; what ``reduce`` of
    its :class:`Execution` is called on is a partial sum, for the ranks to add up.

    Raises:
        ValueError: as :func:`check_degree`.
    """
    shape = shape_of_share(model.shape, seat.num_ranks)
    return Transformer(
        shape,
        weights=Weights(shape, shard(model.weights.arrays, model.shape, seat)),
        absorbed=model.block.absorbed,
        router_scores=model.block.router_scores,
    )


def check_degree(shape: ModelShape, tp: int) -> None:
    """Refuse a degree at which a cut would fall inside a head.

    Raises:
        ValueError: tp does not divide heads and widths of FFNs, or the key–value heads
            can neither be dealt out nor copied evenly.
    """
    sizes = {"n_heads": shape.attention.n_heads, "d_ff": shape.ffn.d_ff}
    if isinstance(shape.ffn, MoeFfn) and shape.ffn.n_dense_layers:
        sizes["d_ff_dense"] = shape.ffn.d_ff_dense
    for name, count in sizes.items():
        if tp < 1 or count % tp:
            raise ValueError(f"{name} must be a multiple of tp, {tp}, got {count}")
    if isinstance(shape.attention, GroupedQueryAttention):
        n_kv = shape.attention.n_kv_heads
        if n_kv % tp and tp % n_kv:
            raise ValueError(
                f"n_kv_heads must be a multiple of tp, {tp}, or a divisor of it, "
                f"got {n_kv}"
            )


def shape_of_share(shape: ModelShape, tp: int) -> ModelShape:
    """The configuration of what one of ``tp`` ranks holds, cut by rows to narrow.

    Raises:
        ValueError: as :func:`check_degree`.
    """
    check_degree(shape, tp)
    return replace(
        shape,
        name=f"one of {tp} shares of {shape.name}",
        attention=_some_heads(shape.attention, tp),
        ffn=_some_features(shape.ffn, tp),
    )


def _some_heads(spec: Attention, tp: int) -> Attention:
    if isinstance(spec, GroupedQueryAttention):
        # More ranks than key–value heads: each keeps a whole one, several keep the
        # same.
        n_kv_heads = max(1, spec.n_kv_heads // tp)
        return replace(spec, n_heads=spec.n_heads // tp, n_kv_heads=n_kv_heads)
    return replace(spec, n_heads=spec.n_heads // tp)


def _some_features(spec: Ffn, tp: int) -> Ffn:
    if isinstance(spec, MoeFfn) and spec.n_dense_layers:
        spec = replace(spec, d_ff_dense=spec.d_ff_dense // tp)
    return replace(spec, d_ff=spec.d_ff // tp)


def shard(
    arrays: Arrays, shape: ModelShape, seat: RankInfo, *, narrow: Axis = ROWS
) -> dict[str, Array]:
    """What a rank keeps of a layer's arrays, or of a model's, with copies in front.

    ``narrow`` is the axis along which the narrowing matrices are cut.

    Raises:
        ValueError: as :func:`check_degree`.
    """
    check_degree(shape, seat.num_ranks)
    return {
        name: _part(name, array, shape, seat, narrow) for name, array in arrays.items()
    }


def _part(
    name: str, array: Array, shape: ModelShape, seat: RankInfo, narrow: Axis
) -> Array:
    """One weight, or a bias, which is cut as its matrix's columns are."""
    is_bias = name.endswith(".bias")
    matrix = name.removesuffix(".bias").rpartition(".")[2]
    if matrix in CACHED and isinstance(shape.attention, GroupedQueryAttention):
        return kv_columns(array, shape.attention.n_kv_heads, seat)
    if matrix in WIDENING:
        return piece(array, seat, axis=COLUMNS)
    if matrix in NARROWING and not is_bias:
        return piece(array, seat, axis=narrow)
    if matrix in NARROWING and narrow == COLUMNS:
        return piece(array, seat, axis=COLUMNS)
    if matrix in NARROWING and seat.index > 0:
        return np.zeros_like(array)  # a bias enters the sum once, on rank 0
    return array


def piece(array: Array, seat: RankInfo, *, axis: int) -> Array:
    """The part of ``array`` that a rank keeps: an equal slice along ``axis``.

    Raises:
        ValueError: the axis cannot be cut into one equal slice per rank.
    """
    length = array.shape[axis]
    if length % seat.num_ranks:
        raise ValueError(
            f"axis {axis} must be a multiple of tp, {seat.num_ranks}, got {length}"
        )
    return np.asarray(np.split(array, seat.num_ranks, axis=axis)[seat.index])


def kv_columns(array: Array, n_kv_heads: int, seat: RankInfo) -> Array:
    """Columns of the key–value heads that a rank's query heads attend to.

    With more ranks than key–value heads, neighbours keep copies of the same head.
    """
    copies = max(1, seat.num_ranks // n_kv_heads)
    heads = np.split(array, max(n_kv_heads, seat.num_ranks) // copies, axis=-1)
    per_rank = max(1, n_kv_heads // seat.num_ranks)
    first = seat.index // copies * per_rank
    return np.concatenate(heads[first : first + per_rank], axis=-1)
