"""Heads and widths are read off the weights: parts of a block add up to the block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.catalog.ffn import GeluFfn, SwigluFfn
from llmserve_lab.transformer import PLAIN, Packing, Transformer, View, tiny_shape
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rowwise import split_heads

COLUMNS = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj")
ROWS = ("o_proj", "down_proj")


def shard(weights: dict[str, Array], rank: int, ranks: int) -> dict[str, Array]:
    """Columns of what widens, rows of what narrows, all of the norms."""
    mine = dict(weights)
    for names, axis in ((COLUMNS, 1), (ROWS, 0)):
        for name in set(names) & set(weights):
            mine[name] = np.split(weights[name], ranks, axis)[rank]
    return mine


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("ffn", [GeluFfn(d_ff=64), SwigluFfn(d_ff=16)])
def test_parts_add_up_to_both_halves(ranks: int, ffn: GeluFfn | SwigluFfn) -> None:
    model = Transformer(tiny_shape(n_kv_heads=4, ffn=ffn))
    rows, weights = (
        np.random.default_rng(0).normal(size=(6, 32)),
        model.weights.layer(1),
    )
    packing = Packing((0, 2, 6), (0, 0))
    view, block = View(packing, packing.positions), model.block
    shards = [shard(weights, rank, ranks) for rank in range(ranks)]
    mixed = sum(block.attention_half(rows, mine, view) for mine in shards)
    bent = sum(block.ffn_half(rows, mine) for mine in shards)
    np.testing.assert_allclose(mixed, block.attention_half(rows, weights, view), 1e-10)
    np.testing.assert_allclose(bent, block.ffn_half(rows, weights), 1e-10)


def test_each_half_of_each_block_is_reduced_once_with_rows_of_full_width() -> None:
    shapes: list[tuple[int, ...]] = []

    def reduce(partial: Array) -> Array:
        shapes.append(partial.shape)
        return partial

    Transformer(tiny_shape(n_layers=8)).forward(
        [1, 2], run=replace(PLAIN, reduce=reduce)
    )
    assert shapes == [(2, 32)] * 2 * 8


def test_a_head_is_never_cut() -> None:
    with pytest.raises(ValueError, match="d_head must divide the width 12, got 8"):
        split_heads(np.ones((3, 12)), 8)
