"""A cache in blocks gives the logits of a contiguous one, whatever the blocks do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape
from llmserve_lab.paged_cache import NoFreeBlockError
from llmserve_lab.transformer import Transformer, tiny_latent, tiny_shape
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.paged import PagedKVStore
from tests.transformer.shapes import models, prompt, seeds

MODEL = Transformer(tiny_shape())


def check(found: Array, wanted: Array) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)


@given(
    model=models(),
    seed=seeds,
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    size=st.integers(1, 5),
    steps=st.integers(0, 4),
)
def test_paged_is_contiguous(
    model: Transformer, seed: int, lengths: list[int], size: int, steps: int
) -> None:
    """Several requests in one pass, prefill and then decode, blocks of any size."""
    room = sum(-(-(length + steps) // size) for length in lengths)
    store = PagedKVStore(
        model.shape, num_blocks=room, block_tokens=size, prefix_caching=False
    )
    texts = [prompt(model, n, seed + i) for i, n in enumerate(lengths)]
    paged = [store.admit(i, list(map(int, text))) for i, text in enumerate(texts)]
    plain = [model.new_cache(n + steps) for n in lengths]
    new, rng = texts, np.random.default_rng(seed)
    for _ in range(steps + 1):
        bounds = np.cumsum([0, *map(len, new)]).tolist()
        rows = np.concatenate(new)
        np.testing.assert_allclose(
            model.forward_packed(rows, bounds, paged),
            model.forward_packed(rows, bounds, plain),
        )
        new = [rng.integers(model.shape.vocab, size=1) for _ in lengths]
        if paged[0].length - lengths[0] < steps:
            for i, each in enumerate(new):
                store.append(i, int(each[0]))


@given(model=models(), seed=seeds, size=st.integers(1, 4), data=st.data())
def test_a_prompt_that_begins_as_another_goes_on_from_its_blocks(
    model: Transformer, seed: int, size: int, data: st.DataObject
) -> None:
    first = [int(t) for t in prompt(model, data.draw(st.integers(1, 12)), seed)]
    common = data.draw(st.integers(0, len(first)))
    second = first[:common] + [
        int(t) for t in prompt(model, data.draw(st.integers(1, 6)), seed + 1)
    ]
    store = PagedKVStore(model.shape, num_blocks=40, block_tokens=size)
    model.forward(first, store.admit("first", first))
    if data.draw(st.booleans()):
        store.free("first")
    cache = store.admit("second", second)
    assert cache.length >= min(common, len(second) - 1) // size * size
    logits = model.forward(second[cache.length :], cache)
    alone = model.forward(second)
    check(logits, alone[-len(logits) :])


@given(model=models(), seed=seeds, size=st.integers(1, 4), beams=st.integers(2, 4))
def test_samples_share_a_prompt_and_part_when_they_write(
    model: Transformer, seed: int, size: int, beams: int
) -> None:
    """Copy-on-write: each sample reads its own tokens, and nothing of the others."""
    text = [int(t) for t in prompt(model, 5, seed)]
    store = PagedKVStore(model.shape, num_blocks=60, block_tokens=size, log=True)
    caches = {0: store.admit(0, text)}
    model.forward(text, caches[0])
    for beam in range(1, beams):
        caches[beam] = store.fork(0, beam)
    for step in range(3):
        for beam, cache in caches.items():
            token = (beam + step) % model.shape.vocab
            store.append(beam, token)
            told = list(store.allocator.tokens(beam))
            logits = model.forward([token], cache)
            check(logits[-1], model.forward(told)[-1])
    events = store.allocator.pool.events or []
    copies = sum(event.kind == "copied" for event in events)
    assert copies == (beams - 1 if len(text) % size else 0)


@pytest.mark.parametrize("shape", [tiny_shape(), tiny_shape(attention=tiny_latent())])
@pytest.mark.parametrize("swapped", [True, False])
def test_a_preempted_request_goes_on_as_if_nothing_had_happened(
    shape: ModelShape, swapped: bool
) -> None:
    model = Transformer(shape)
    store = PagedKVStore(model.shape, num_blocks=4, block_tokens=4)
    text = [3, 1, 4, 1, 5, 9]
    model.forward(text, store.admit("A", text, salt="s"))
    store.append("A", 2)
    copy = store.swap_out("A")
    assert store.allocator.pool.num_free == 4
    other = [7] * 16
    model.forward(other, store.admit("B", other))  # every block is written over
    store.free("B")
    if swapped:
        cache = store.swap_in("A", copy)
        assert cache.length == len(text)
    else:
        cache = store.admit("A", copy.tokens, salt="s")
        assert cache.length == 0
    logits = model.forward(copy.tokens[cache.length :], cache)
    check(logits[-1], model.forward([*text, 2])[-1])


def test_bytes_are_those_of_the_shape_in_whole_blocks() -> None:
    store = PagedKVStore(MODEL.shape, num_blocks=9, block_tokens=4)
    cache = store.admit("A", [1] * 6)
    MODEL.forward([1] * 6, cache)
    assert cache.num_bytes == 6 * MODEL.shape.kv_bytes_per_token(8)
    assert cache.capacity_bytes == 8 * MODEL.shape.kv_bytes_per_token(8)


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    store = PagedKVStore(MODEL.shape, num_blocks=2, block_tokens=4)
    cache = store.admit("A", [1, 2, 3])
    MODEL.forward([1, 2, 3], cache)
    before = {part: array.copy() for part, array in store.blocks.items()}
    with pytest.raises(NoFreeBlockError, match="tokens must fit into the 1 free"):
        store.admit("B", [1] * 5)
    with pytest.raises(ValueError, match="context must be at most"):
        MODEL.forward([4], cache)  # it was not appended
    for part, array in before.items():
        assert (store.blocks[part] == array).all()
    assert cache.length == 3
