"""Five counts of varlen: each walked over, tile by tile."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.transformer import Packing, varlen_attention
from llmserve_lab.transformer.packing import cumulative
from llmserve_lab.transformer.tiling import tiles
from llmserve_lab.varlen.tile_counts import counted, places
from tests.varlen.batches import carried_out

LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=4)


@given(lengths=LENGTHS, group=st.sampled_from([1, 2, 4]), skip=st.booleans())
def test_places_are_those_of_the_tiles_that_a_kernel_walks_over(
    lengths: list[int], group: int, skip: bool
) -> None:
    """A tile of 8 rows is one of 8 / group tokens: walked over token by token."""
    side, tall = 8, 8 // group
    kernel = varlen_attention(Packing(cumulative(lengths), (0,) * len(lengths)))
    visited = list(tiles(kernel, tall, side, skip=skip))
    assert places(lengths, side, group=group, skip=skip) == len(visited) * tall * side


@given(lengths=LENGTHS)
def test_more_is_counted_from_line_to_line(lengths: list[int]) -> None:
    """Useful pairs lie in every tile; heads that share a tile never add places."""
    useful = carried_out("varlen", lengths).useful_pairs
    packed, alone = (places(lengths, 8, group=group) for group in (4, 1))
    every = places(lengths, 8, skip=False)
    assert useful <= packed <= alone <= every
    assert every >= sum(length**2 for length in lengths)


def test_tiles_of_one_place_are_the_pairs() -> None:
    lengths = [3, 8, 5]
    done = carried_out("varlen", lengths)
    assert places(lengths, 1, skip=False) == done.pairs
    assert places(lengths, 1) == done.useful_pairs


def test_heads_in_a_tile_are_counted_by_rows_of_all_heads() -> None:
    """150 tokens of 4 heads, the heads of a token side by side: 600 rows."""
    heads, tokens, side = 4, 150, 128
    token = np.arange(heads * tokens) // heads
    seen = token[:, np.newaxis] >= np.arange(tokens)
    visited = sum(
        bool(seen[i : i + side, j : j + side].any())
        for i in range(0, heads * tokens, side)
        for j in range(0, tokens, side)
    )
    assert places([tokens], side, group=heads) * heads == visited * side**2


def test_the_table_names_five_counts() -> None:
    rows = counted([100, 200, 500, 1200], side=128, group=4).rows
    shares = [float(str(row[-1]).rstrip("%")) for row in rows]
    assert len(rows) == 5 and shares[-1] == 100
    assert shares[1:] == sorted(shares[1:])


def test_what_is_no_tile_is_refused() -> None:
    with pytest.raises(ValueError, match="group must divide the side of a tile, 8"):
        places([5], 8, group=3)
    with pytest.raises(ValueError, match="side must be at least 1"):
        places([5], 0)
    with pytest.raises(ValueError, match="lengths must be 1 or more requests"):
        places([], 8)
