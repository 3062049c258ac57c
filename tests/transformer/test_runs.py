"""One model, however it is run: loops, caches, packings and chunks agree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.transformer import (
    ORDERED,
    PLAIN,
    Execution,
    Transformer,
    cumulative,
    masked_attention,
    tiny_shape,
)
from llmserve_lab.transformer.arithmetic import Array, Integers
from tests.depth import examples
from tests.transformer import loops
from tests.transformer.shapes import grouped, latents, models, prompt, seeds

lengths = st.lists(st.integers(1, 6), min_size=1, max_size=4)
pasts = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=4
)
runs = st.sampled_from([PLAIN, ORDERED])


def alike(run: Execution, found: Array, expected: Array) -> None:
    """To 1e-10 in any order of summation, to the bit in a fixed one."""
    if run is ORDERED:
        assert np.array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@given(model=models(), n=st.integers(1, 5), seed=seeds)
@settings(max_examples=examples(40))
def test_the_model_is_what_plain_python_says(
    model: Transformer, n: int, seed: int
) -> None:
    tokens = prompt(model, n, seed)
    expected = loops.logits(model, tokens.tolist())
    np.testing.assert_allclose(model.forward(tokens), expected, rtol=1e-9, atol=1e-9)


@given(model=models(), chunks=lengths, seed=seeds, run=runs)
@settings(max_examples=examples(30))
def test_chunks_through_a_cache_are_one_forward(
    model: Transformer, chunks: list[int], seed: int, run: Execution
) -> None:
    tokens = prompt(model, sum(chunks), seed)
    cache = model.new_cache(len(tokens))
    parts = [
        model.forward(tokens[start:end], cache, run=run)
        for start, end in pairwise(cumulative(chunks))
    ]
    alike(run, np.concatenate(parts), model.forward(tokens, run=run))


@given(model=models(), sizes=lengths, seed=seeds)
@settings(max_examples=examples(30))
def test_padded_masked_and_varlen_give_each_request_its_very_bits(
    model: Transformer, sizes: list[int], seed: int
) -> None:
    run = ORDERED
    tokens, bounds = prompt(model, sum(sizes), seed), cumulative(sizes)
    requests = [tokens[start:end] for start, end in pairwise(bounds)]
    alone = np.concatenate([model.forward(each, run=run) for each in requests])
    alike(run, model.forward_packed(tokens, bounds, run=run), alone)
    masked = model.forward_packed(tokens, bounds, kernel=masked_attention, run=run)
    alike(run, masked, alone)
    alike(run, padded(model, requests, run), alone)


def padded(model: Transformer, requests: list[Integers], run: Execution) -> Array:
    """Every request filled up to the longest; the filling's logits thrown away."""
    longest = max(map(len, requests))
    filled = [np.pad(each, (0, longest - len(each))) for each in requests]
    bounds = cumulative([longest] * len(requests))
    logits = model.forward_packed(np.concatenate(filled), bounds, run=run)
    kept = zip(np.split(logits, bounds[1:-1]), requests, strict=True)
    return np.concatenate([rows[: len(each)] for rows, each in kept])


@given(model=models(), sizes=pasts, seed=seeds, run=runs)
@settings(max_examples=examples(30))
def test_prefill_chunks_and_decode_share_a_forward(
    model: Transformer, sizes: list[tuple[int, int]], seed: int, run: Execution
) -> None:
    requests = [prompt(model, sum(size), seed + i) for i, size in enumerate(sizes)]
    caches = [model.new_cache(len(each)) for each in requests]
    expected, tails = [], []
    for each, (past, _), cache in zip(requests, sizes, caches, strict=True):
        if past:
            model.forward(each[:past], cache, run=run)
        expected.append(model.forward(each, run=run)[past:])
        tails.append(each[past:])
    bounds = cumulative([len(tail) for tail in tails])
    found = model.forward_packed(np.concatenate(tails), bounds, caches, run=run)
    alike(run, found, np.concatenate(expected))
    assert [cache.length for cache in caches] == [len(each) for each in requests]


@given(model=models(attention=latents), n=st.integers(1, 6), seed=seeds)
def test_the_absorbed_form_of_mla_is_the_vanilla_form(
    model: Transformer, n: int, seed: int
) -> None:
    tokens = prompt(model, n, seed)
    vanilla, absorbed = (
        Transformer(model.shape, weights=model.weights, absorbed=form).forward(tokens)
        for form in (False, True)
    )
    np.testing.assert_allclose(absorbed, vanilla, rtol=1e-9, atol=1e-10)


@given(model=models(attention=grouped()), shift=st.integers(0, 500), seed=seeds)
def test_only_the_distance_between_two_positions_matters(
    model: Transformer, shift: int, seed: int
) -> None:
    tokens, positions = prompt(model, 5, seed), np.arange(5)
    moved = model.forward(tokens, positions=positions + shift)
    np.testing.assert_allclose(moved, model.forward(tokens), rtol=1e-9, atol=1e-9)


def test_other_distances_give_other_logits() -> None:
    model = Transformer(tiny_shape())
    tokens = np.arange(5)
    spread = model.forward(tokens, positions=3 * tokens)
    assert not np.allclose(spread, model.forward(tokens), rtol=1e-3)
