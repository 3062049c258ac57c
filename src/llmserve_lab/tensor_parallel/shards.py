"""A rank's share of one layer: whole heads, some FFN features, and all of the norms.

What widens a row (query, key, value, up, gate) is cut by columns. What narrows it
again (output, down) is cut by rows where partial sums are added up, and by columns
where everything is gathered.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.attention import GroupedQueryAttention
from llmserve_lab.catalog.ffn import MoeFfn
from llmserve_lab.cluster import Rank
from llmserve_lab.tensor_parallel.cuts import COLUMNS, ROWS, Axis, piece
from llmserve_lab.transformer.arithmetic import Array

Layer = Mapping[str, Array]
WIDENING = ("q_proj", "up_proj", "gate_proj")
CACHED = ("k_proj", "v_proj")
NARROWING = ("o_proj", "down_proj")


def check_degree(shape: ModelShape, tp: int) -> None:
    """Refuse a degree at which a cut would fall inside a head.

    Raises:
        ValueError: tp divides neither heads nor d_ff, or the key–value heads can
            neither be dealt out nor copied evenly.
        TypeError: the model has latent attention or experts, which are cut otherwise.
    """
    heads = attention_of(shape)
    if isinstance(shape.ffn, MoeFfn):
        raise TypeError(f"shape must have a dense FFN, got that of {shape.name}")
    for name, count in (("n_heads", heads.n_heads), ("d_ff", shape.ffn.d_ff)):
        if tp < 1 or count % tp:
            raise ValueError(f"{name} must be a multiple of tp, {tp}, got {count}")
    n_kv = heads.n_kv_heads
    if n_kv % tp and tp % n_kv:
        raise ValueError(
            f"n_kv_heads must be a multiple of tp, {tp}, or a divisor of it, got {n_kv}"
        )


def attention_of(shape: ModelShape) -> GroupedQueryAttention:
    """The model's attention, if its heads can be dealt out to ranks.

    Raises:
        TypeError: it is latent attention.
    """
    if not isinstance(shape.attention, GroupedQueryAttention):
        raise TypeError(
            f"shape must have grouped-query attention, got {shape.attention.kind}"
        )
    return shape.attention


def shard(layer: Layer, shape: ModelShape, rank: Rank, *, narrow: Axis) -> Layer:
    """What ``rank`` keeps of a ``layer``; ``narrow`` cuts the narrowing matrices.

    Raises:
        ValueError, TypeError: as :func:`check_degree`.
    """
    check_degree(shape, rank.num_ranks)
    return {
        name: _part(name.partition("."), array, shape, rank, narrow)
        for name, array in layer.items()
    }


def _part(
    name: tuple[str, str, str],
    array: Array,
    shape: ModelShape,
    rank: Rank,
    narrow: Axis,
) -> Array:
    """One weight of the layer, or a bias, which is cut as its matrix's columns are."""
    matrix, _, bias = name
    if matrix in CACHED:
        return kv_columns(array, attention_of(shape).n_kv_heads, rank)
    if matrix in WIDENING:
        return piece(array, rank, axis=array.ndim - 1)
    if matrix in NARROWING and not bias:
        return piece(array, rank, axis=narrow)
    if matrix in NARROWING and narrow == COLUMNS:
        return piece(array, rank, axis=0)
    if matrix in NARROWING and narrow == ROWS and rank.index > 0:
        return np.zeros_like(array)  # a bias enters the sum once, on rank 0
    return array


def kv_columns(array: Array, n_kv_heads: int, rank: Rank) -> Array:
    """Columns of the key–value heads that a rank's query heads attend to.

    With more ranks than key–value heads, neighbours keep copies of the same head.
    """
    copies = max(1, rank.num_ranks // n_kv_heads)
    heads = np.split(array, max(n_kv_heads, rank.num_ranks) // copies, axis=-1)
    per_rank = max(1, n_kv_heads // rank.num_ranks)
    first = rank.index // copies * per_rank
    return np.concatenate(heads[first : first + per_rank], axis=-1)
