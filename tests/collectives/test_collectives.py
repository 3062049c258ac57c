"""What the ranks get is what NumPy makes of the whole arrays, to the last bit."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from llmserve_lab.collectives import Rank, run
from llmserve_lab.collectives.backend import Array
from tests.collectives.programs import own, pipeline, ring_all_reduce, swap

RANKS = st.integers(1, 8)
SHAPES = arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)


def same(a: Any, b: Any) -> bool:
    """Equal in shape, dtype and every bit."""
    return bool(
        a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    )


def tensors(num_ranks: int, shape: tuple[int, ...]) -> list[Array]:
    return [own(rank, *shape) for rank in range(num_ranks)]


@given(num_ranks=RANKS, shape=SHAPES)
def test_all_reduce_is_the_sum_in_the_order_of_the_ranks(
    num_ranks: int, shape: tuple[int, ...]
) -> None:
    xs = tensors(num_ranks, shape)
    whole = reduce(np.add, xs)
    results = run(lambda rank: rank.all_reduce(xs[rank.index]), num_ranks).results
    assert all(same(result, whole) for result in results)


@given(num_ranks=RANKS, shape=SHAPES, data=st.data())
def test_all_gather_lays_side_by_side(
    num_ranks: int, shape: tuple[int, ...], data: st.DataObject
) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    xs = tensors(num_ranks, shape)
    whole = np.concatenate(xs, axis=axis)
    got = run(lambda rank: rank.all_gather(xs[rank.index], axis=axis), num_ranks)
    assert all(same(result, whole) for result in got.results)


@given(num_ranks=RANKS, shape=SHAPES, data=st.data())
def test_reduce_scatter_gives_each_its_slice_of_the_sum(
    num_ranks: int, shape: tuple[int, ...], data: st.DataObject
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    longer = tuple(n * num_ranks if i == axis else n for i, n in enumerate(shape))
    xs = tensors(num_ranks, longer)
    slices = np.split(reduce(np.add, xs), num_ranks, axis=axis)
    got = run(lambda rank: rank.reduce_scatter(xs[rank.index], axis=axis), num_ranks)
    assert all(map(same, got.results, slices))


@given(num_ranks=RANKS, shape=SHAPES)
def test_reduce_scatter_and_all_gather_are_an_all_reduce(
    num_ranks: int, shape: tuple[int, ...]
) -> None:
    """In value, in bytes on the wire both ways, and in steps."""
    xs = tensors(num_ranks, (num_ranks * shape[0], *shape[1:]))

    def in_two(rank: Rank) -> Array:
        mine = rank.reduce_scatter(xs[rank.index], axis=0)
        return rank.all_gather(mine, axis=0)

    two = run(in_two, num_ranks)
    one = run(lambda rank: rank.all_reduce(xs[rank.index]), num_ranks)
    assert all(map(same, two.results, one.results))
    for scatter_gather, (whole,) in zip(
        two.ledger.records, one.ledger.records, strict=True
    ):
        first, second = scatter_gather
        assert first.wire + second.wire == whole.wire
        assert first.tensor_bytes == second.tensor_bytes == whole.tensor_bytes


@given(num_ranks=RANKS, width=st.integers(0, 3), data=st.data())
def test_all_to_all_delivers_uneven_parts(
    num_ranks: int, width: int, data: st.DataObject
) -> None:
    row = st.lists(st.integers(0, 4), min_size=num_ranks, max_size=num_ranks)
    counts = data.draw(st.lists(row, min_size=num_ranks, max_size=num_ranks))
    xs = [own(rank, sum(each), width) for rank, each in enumerate(counts)]
    parts = [
        np.split(x, np.cumsum(each)[:-1]) for x, each in zip(xs, counts, strict=True)
    ]
    got = run(
        lambda rank: rank.all_to_all(xs[rank.index], counts[rank.index]), num_ranks
    )
    for dst, (rows, received) in enumerate(got.results):
        assert same(rows, np.concatenate([part[dst] for part in parts]))
        assert received == tuple(each[dst] for each in counts)


def test_all_to_all_and_back_is_where_it_was() -> None:
    def there_and_back(rank: Rank) -> bool:
        rows, counts = swap(rank)
        back, _ = rank.all_to_all(rows, counts)
        return same(back, own(rank.index, *back.shape))

    assert run(there_and_back, 5).results == (True,) * 5


@given(num_ranks=RANKS, data=st.data())
def test_broadcast_gives_all_what_the_root_has(
    num_ranks: int, data: st.DataObject
) -> None:
    root = data.draw(st.integers(0, num_ranks - 1))

    def program(rank: Rank) -> Array:
        mine = np.arange(6).reshape(2, 3) if rank.index == root else None
        return rank.broadcast(mine, root=root)

    for result in run(program, num_ranks).results:
        assert same(result, np.arange(6).reshape(2, 3))


def test_messages_arrive_in_the_order_of_sending() -> None:
    def program(rank: Rank) -> list[int]:
        if rank.index == 0:
            for number in range(5):
                rank.send([number], dst=1)
            return []
        return [int(rank.recv(src=0)[0]) for _ in range(5)]

    assert run(program, 2).results[1] == [0, 1, 2, 3, 4]


def test_a_pipeline_of_sends_adds_up() -> None:
    results = run(pipeline, 6).results
    for last, result in enumerate(results):
        assert np.allclose(result, sum(own(rank, 3) for rank in range(last + 1)))


@given(num_ranks=RANKS, shape=SHAPES)
def test_the_ring_makes_the_same_sum(num_ranks: int, shape: tuple[int, ...]) -> None:
    """Chunk by chunk in another order, so equal to rounding (and exact in integers)."""
    xs = [own(rank, *shape).astype(np.int64) for rank in range(num_ranks)]
    got = run(lambda rank: ring_all_reduce(rank, xs[rank.index]), num_ranks)
    assert all(same(result, reduce(np.add, xs)) for result in got.results)


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "i8", "u2", "c16"])
def test_the_dtype_is_kept(dtype: str) -> None:
    for result in run(lambda rank: rank.all_reduce(np.ones(3, dtype)), 3).results:
        assert result.dtype == np.dtype(dtype)
        assert result.tolist() == [3, 3, 3]
