"""The loop over requests and the loop over tiles give plain attention's numbers."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.transformer import (
    Packing,
    attend,
    attend_tiles,
    causal_mask,
    masked_attention,
    varlen_attention,
)
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.packing import AttentionKernel, cumulative
from llmserve_lab.transformer.tiling import tiles, tiles_of
from llmserve_lab.varlen.kernel import attend_packed
from tests.depth import examples

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=5)
KERNELS = pytest.mark.parametrize("kernel", [masked_attention, varlen_attention])


Parts = tuple[Array, Array, Array]


def head(rows: int, seed: int = 0) -> Parts:
    """Queries, keys and values [n, 6] of one head."""
    q, k, v = np.random.default_rng(seed).standard_normal((3, rows, 6))
    return q, k, v


def alone(parts: Parts, cu: tuple[int, ...]) -> Array:
    """Each request by itself, by the transformer's attention."""
    found = []
    for start, end in pairwise(cu):
        q, k, v = (part[start:end, np.newaxis, :] for part in parts)
        found.append(attend(q, k, v, causal_mask(end - start, end - start))[:, 0])
    return np.concatenate(found)


@given(lengths=LENGTHS, seed=st.integers(0, 99))
@settings(max_examples=examples(25))
def test_the_loop_over_requests_is_attention_of_each_alone(
    lengths: list[int], seed: int
) -> None:
    cu, parts = cumulative(lengths), head(sum(lengths), seed)
    np.testing.assert_allclose(
        attend_packed(*parts, cu), alone(parts, cu), rtol=0, atol=1e-12
    )


@KERNELS
@given(lengths=LENGTHS, side=st.integers(1, 5), skip=st.booleans())
@settings(max_examples=examples(25))
def test_tiles_of_any_side_give_the_same(
    kernel: AttentionKernel, lengths: list[int], side: int, skip: bool
) -> None:
    cu, parts = cumulative(lengths), head(sum(lengths))
    packing = Packing(cu, (0,) * len(lengths))
    visited = list(tiles(kernel(packing), side, skip=skip))
    q, k, v = (part[:, np.newaxis] for part in parts)
    got = attend_tiles(q, k, v, visited)[:, 0]
    np.testing.assert_allclose(got, alone(parts, cu), rtol=0, atol=1e-12)
    assert sum(tile.useful for tile in visited) == sum(
        s * (s + 1) // 2 for s in lengths
    )


@given(lengths=LENGTHS, side=st.integers(1, 5))
@settings(max_examples=examples(25))
def test_tiles_are_counted_without_walking(lengths: list[int], side: int) -> None:
    packing = Packing(cumulative(lengths), (0,) * len(lengths))
    walked = list(tiles(varlen_attention(packing), side, skip=True))
    assert len(walked) == tiles_of(lengths, side)


def test_a_lost_boundary_mixes_two_requests() -> None:
    parts = head(16)
    right, wrong = attend_packed(*parts, (0, 3, 11, 16)), attend_packed(*parts, (0, 16))
    apart = np.abs(right - wrong).max(axis=1)
    assert (apart[:3] < 1e-12).all() and (apart[3:] > 1e-6).all()


def test_a_tile_has_at_least_one_row() -> None:
    with pytest.raises(ValueError, match="tile_rows must be at least 1"):
        list(tiles(varlen_attention(Packing((0, 3), (0,))), 0))


@pytest.mark.parametrize(
    ("bounds", "refused"),
    [
        ([], "start at 0 and hold a request"),
        ([3, 16], "start at 0 and hold a request"),
        ([0, 11, 3, 16], "increase"),
        ([0, 3], "end at the number of tokens, 16, got 3"),
        ([0, 3, 11], "end at the number of tokens, 16, got 11"),
    ],
)
def test_bounds_that_leave_a_row_to_no_request_are_refused(
    bounds: list[int], refused: str
) -> None:
    with pytest.raises(ValueError, match=f"cu_seqlens must {refused}"):
        attend_packed(*head(16), bounds)
