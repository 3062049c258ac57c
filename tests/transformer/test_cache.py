"""The cache holds what the catalog says, and no error leaves anything behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape
from llmserve_lab.transformer import (
    Execution,
    KVCache,
    Transformer,
    tiny_latent,
    tiny_moe,
    tiny_shape,
)
from tests.transformer.shapes import shapes

MODEL = Transformer(tiny_shape())


@given(shape=shapes(), capacity=st.integers(1, 9), data=st.data())
def test_the_cache_holds_exactly_what_the_catalog_says(
    shape: ModelShape, capacity: int, data: st.DataObject
) -> None:
    cache = KVCache(shape, capacity_tokens=capacity)
    assert cache.num_bytes == 0
    assert cache.capacity_bytes == shape.kv_bytes_per_token(8) * capacity
    n = data.draw(st.integers(1, capacity))
    Transformer(shape).forward([0] * n, cache)
    assert cache.length == n
    assert cache.num_bytes == shape.kv_bytes_per_token(8) * n
    held = [array for layer in range(shape.n_layers)
            for array in cache.read(layer).values()]  # fmt: skip
    assert sum(array.size for array in held) == shape.kv_elements_per_token * n


@pytest.mark.parametrize("shape", [
    tiny_shape(), tiny_shape(attention=tiny_latent()), tiny_shape(ffn=tiny_moe())
])  # fmt: skip
def test_the_first_layer_holds_what_its_own_token_gives(shape: ModelShape) -> None:
    model = Transformer(shape)
    one, two = model.new_cache(4), model.new_cache(4)
    model.forward([5, 6, 7], one)
    model.forward([5, 6, 1], two)
    for layer in range(shape.n_layers):
        for part, held in one.read(layer).items():
            other = two.read(layer)[part]
            assert np.allclose(held[:2], other[:2], rtol=1e-12)
            assert not np.allclose(held[2], other[2])


def snapshot(cache: KVCache) -> list[Any]:
    arrays = [cache.read(i)[part].copy() for i in range(2) for part in cache.parts]
    return [cache.length, *arrays]


def unchanged(cache: KVCache, before: list[Any]) -> bool:
    now = snapshot(cache)
    return all(np.array_equal(a, b) for a, b in zip(now, before, strict=True))


@pytest.mark.parametrize(
    ("tokens", "error", "message"),
    [
        ([1] * 4, ValueError,
         "context must be at most capacity_tokens = 6, got 3 cached and 4 new"),
        ([], ValueError, r"tokens must be a list of at least 1 id, got shape \(0,\)"),
        ([[1]], ValueError, r"at least 1 id, got shape \(1, 1\)"),
        ([1, 61], ValueError, "tokens must be ids from 0 to 60, got 61"),
        ([-1], ValueError, "tokens must be ids from 0 to 60, got -1"),
        ([1.0], TypeError, "tokens must be whole numbers, got float64"),
        ([True], TypeError, "tokens must be whole numbers, got bool"),
    ],
)  # fmt: skip
def test_a_refused_request_leaves_the_cache_alone(
    tokens: list[Any], error: type[Exception], message: str
) -> None:
    cache = MODEL.new_cache(6)
    MODEL.forward([1, 2, 3], cache)
    before = snapshot(cache)
    with pytest.raises(error, match=message):
        MODEL.forward(tokens, cache)
    assert unchanged(cache, before)


def test_an_error_halfway_leaves_every_cache_alone() -> None:
    class BrokenError(Exception):
        pass

    def break_in_the_last_block(name: str, axes: str, array: object) -> None:
        if name == "block 2 / down_proj":
            raise BrokenError

    caches = [MODEL.new_cache(9), MODEL.new_cache(9)]
    MODEL.forward_packed([1, 2, 3], [0, 1, 3], caches)
    before = [snapshot(cache) for cache in caches]
    with pytest.raises(BrokenError):
        MODEL.forward_packed(
            [4, 5], [0, 1, 2], caches, run=Execution(note=break_in_the_last_block)
        )
    full = [caches[0], MODEL.new_cache(1)]
    with pytest.raises(ValueError, match="capacity_tokens = 1, got 0 cached and 2 new"):
        MODEL.forward_packed([4, 5, 6], [0, 1, 3], full)
    assert all(map(unchanged, caches, before))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([0, 2, 2, 3], "cu_seqlens must increase, every request has at least 1 token"),
        ([0, 3, 2], r"cu_seqlens must increase.* got \(0, 3, 2\)"),
        ([1, 3], r"cu_seqlens must start at 0 and hold a request, got \(1, 3\)"),
        ([0], "cu_seqlens must start at 0 and hold a request"),
        ([0, 2], "cu_seqlens must end at the number of tokens, 3, got 2"),
        ([0, 2, 4], "cu_seqlens must end at the number of tokens, 3, got 4"),
    ],
)
def test_lengths_that_do_not_add_up_are_refused(
    bounds: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        MODEL.forward_packed([1, 2, 3], bounds)


def test_caches_are_one_per_request_and_of_this_model() -> None:
    cache, other = (
        MODEL.new_cache(9),
        KVCache(tiny_shape(n_layers=1), capacity_tokens=9),
    )
    for caches in ([cache], [cache, cache], []):
        with pytest.raises(ValueError, match="caches must be one per request, 2 diff"):
            MODEL.forward_packed([1, 2, 3], [0, 1, 3], caches)
    with pytest.raises(
        ValueError, match=r"cache must hold .* in 2 layers, got .* in 1"
    ):
        MODEL.forward([1], other)
    with pytest.raises(ValueError, match="capacity_tokens must be at least 1 token"):
        MODEL.new_cache(0)


def test_what_is_held_cannot_be_written_from_outside() -> None:
    cache = MODEL.new_cache(2)
    MODEL.forward([1], cache)
    with pytest.raises(ValueError, match="read-only"):
        cache.read(0)["key"][0] = 0
    with pytest.raises(ValueError, match="layers must be 2 times"):
        cache.append([cache.read(0)], num_tokens=1)


def test_an_append_that_does_not_fit_writes_nothing() -> None:
    cache = MODEL.new_cache(3)
    MODEL.forward([1, 2], cache)
    before, again = snapshot(cache), [cache.read(0), cache.read(1)]
    with pytest.raises(ValueError, match="capacity_tokens = 3, got 2 cached and 2 new"):
        cache.append(again, num_tokens=2)
    assert unchanged(cache, before)
