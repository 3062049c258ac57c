"""Ranks that each hold some heads, and requests end to end: neither knows of the other.

Boundaries are read inside the kernel, on the heads that a rank has. What ranks exchange
is a stack of rows, whoever they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from llmserve_lab.catalog.attention import GroupedQueryAttention
from llmserve_lab.catalog.ffn import MoeFfn
from llmserve_lab.cluster import Rank, Run, run
from llmserve_lab.transformer import PLAIN, Packing, Transformer, View, varlen_attention
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.inputs import rotary_positions, token_ids
from llmserve_lab.transformer.packing import Kernel

BY_COLUMNS = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj")
BY_ROWS = ("o_proj", "down_proj")


def forward_on_ranks(
    model: Transformer,
    tokens: npt.ArrayLike,
    cu_seqlens: Sequence[int],
    *,
    num_ranks: int,
    kernel: Kernel = varlen_attention,
) -> Run[Array]:
    """Logits [n, V] on each of ``num_ranks`` ranks, and the ledger of their exchange.

    Raises:
        ValueError: the key–value heads or d_ff cannot be dealt out evenly, the
            attention is latent or the FFN has experts, or the model refuses the input.
    """
    _check(model, num_ranks)
    packing = Packing(tuple(cu_seqlens), (0,) * (len(cu_seqlens) - 1))
    ids = token_ids(tokens, vocab=model.shape.vocab)
    positions = rotary_positions(None, packing, n_rows=len(ids))
    view = View(packing, positions, kernel=kernel)

    def program(rank: Rank) -> Array:
        rows, own = model.weights.embedding[ids], replace(PLAIN, reduce=rank.all_reduce)
        for layer in range(model.shape.n_layers):
            part = part_of(model.weights.layer(layer), rank)
            rows = model.block(rows, part, view, run=own)
        return model.logits(rows)

    return run(program, num_ranks)


def part_of(weights: dict[str, Array], rank: Rank) -> dict[str, Array]:
    """What one rank holds of a layer: columns of some heads, and the rows they meet."""
    part = dict(weights)
    for names, axis in ((BY_COLUMNS, 1), (BY_ROWS, 0)):
        for name in names:
            if name in weights:
                slices = np.split(weights[name], rank.num_ranks, axis=axis)
                part[name] = slices[rank.index]
    return part


def _check(model: Transformer, num_ranks: int) -> None:
    attention, ffn = model.shape.attention, model.shape.ffn
    if not isinstance(attention, GroupedQueryAttention) or attention.out_bias:
        raise ValueError(f"model must cache heads, got {attention.kind}")
    if isinstance(ffn, MoeFfn):
        raise ValueError("model must have a dense FFN, got a mixture of experts")
    sizes = {"n_kv_heads": attention.n_kv_heads, "d_ff": ffn.d_ff}
    for name, size in sizes.items():
        if num_ranks < 1 or size % num_ranks:
            raise ValueError(f"num_ranks must divide {name} = {size}, got {num_ranks}")
