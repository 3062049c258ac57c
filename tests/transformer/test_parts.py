"""A block asks its ranks twice, with whole rows, and never cuts a head."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab.transformer import PLAIN, Transformer, tiny_shape
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rowwise import split_heads


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
