"""FLOPs counted at the multiplications themselves, against the walk over the shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.transformer import (
    Execution,
    Meter,
    Transformer,
    generate,
    masked_attention,
    tiny_latent,
    tiny_shape,
)
from tests.transformer.shapes import articles_model, models, prompt, seeds, shapes


def metered(
    transformer: Transformer, *, context: int, chunk: int, seed: int = 0
) -> Meter:
    """What one iteration does: ``chunk`` new tokens after ``context`` cached ones."""
    tokens = prompt(transformer, context + chunk, seed)
    cache, meter = transformer.new_cache(len(tokens)), Meter()
    if context:
        transformer.forward(tokens[:context], cache)
    transformer.forward(tokens[context:], cache, run=meter.on())
    return meter


@given(shape=shapes(), context=st.integers(0, 6), chunk=st.integers(1, 6), seed=seeds)
def test_an_executed_forward_does_what_the_walk_counts(
    shape: ModelShape, context: int, chunk: int, seed: int
) -> None:
    transformer = Transformer(shape, absorbed=True)
    meter = metered(transformer, context=context, chunk=chunk, seed=seed)
    bill = walk(shape, batch=1, context=context, chunk=chunk)
    assert meter.linear_flops == bill.linear_flops
    assert meter.useful_attn_flops == bill.attn_flops
    assert meter.useful_pairs == bill.attn_pairs * shape.n_layers
    assert meter.pairs == chunk * (context + chunk) * shape.n_layers


@pytest.mark.parametrize("transformer", [Transformer(tiny_shape()), articles_model()])
def test_so_it_does_for_the_models_of_the_chapters(transformer: Transformer) -> None:
    meter = metered(transformer, context=3, chunk=5)
    bill = walk(transformer.shape, batch=1, context=3, chunk=5)
    assert meter.linear_flops == bill.linear_flops
    assert meter.useful_attn_flops == bill.attn_flops


@given(transformer=models(), n=st.integers(1, 6), seed=seeds)
def test_token_by_token_no_pair_is_computed_in_vain(
    transformer: Transformer, n: int, seed: int
) -> None:
    cache, meter = transformer.new_cache(n), Meter()
    for token in prompt(transformer, n, seed):
        transformer.forward([token], cache, run=meter.on())
    bill = walk(transformer.shape, batch=1, context=0, chunk=n)
    assert (
        meter.pairs
        == meter.useful_pairs
        == bill.attn_pairs * (transformer.shape.n_layers)
    )
    if transformer.block.absorbed:
        assert meter.attn_flops == bill.attn_flops


@pytest.mark.parametrize("context", [0, 1, 9])
def test_vanilla_mla_makes_the_keys_of_the_whole_context_again(context: int) -> None:
    spec = tiny_latent()
    shape = tiny_shape(attention=spec)
    vanilla = metered(Transformer(shape), context=context, chunk=2)
    absorbed = metered(Transformer(shape, absorbed=True), context=context, chunk=2)
    again = context * shape.n_layers * 2 * spec.d_latent * made(spec)
    assert vanilla.linear_flops - absorbed.linear_flops == again
    per_pair = shape.attn_flops_per_pair(absorbed=False)
    assert vanilla.attn_flops == 2 * (context + 2) * per_pair


def made(spec: LatentAttention) -> int:
    """Numbers of the keys and values of one token, all heads."""
    return sum(spec.d_head + spec.d_v for _ in range(spec.n_heads))


def test_varlen_computes_the_squares_on_the_diagonal_and_masking_the_whole() -> None:
    """Article 04: requests of 10 and 30 tokens, 1,000 pairs of use among 1,600."""
    transformer = Transformer(tiny_shape(n_layers=1))
    tokens, bounds = prompt(transformer, 40, 0), (0, 10, 40)
    varlen, masked = Meter(), Meter()
    transformer.forward_packed(tokens, bounds, run=varlen.on())
    transformer.forward_packed(tokens, bounds, kernel=masked_attention, run=masked.on())
    assert (varlen.pairs, masked.pairs) == (1000, 1600)
    assert varlen.linear_flops == masked.linear_flops
    assert varlen.useful_attn_flops == masked.useful_attn_flops


def test_generating_without_a_cache_does_every_earlier_row_again() -> None:
    transformer = Transformer(tiny_shape())
    cached, naive = Meter(), Meter()
    generate(transformer, [1, 2, 3], 5, run=cached.on())
    generate(transformer, [1, 2, 3], 5, cached=False, run=naive.on())
    one_row = walk(transformer.shape, batch=1, context=0, chunk=1).linear_flops
    assert cached.linear_flops == (3 + 1 + 1 + 1 + 1) * one_row
    assert naive.linear_flops == (3 + 4 + 5 + 6 + 7) * one_row


def test_a_meter_reads_along_with_whoever_looks_on_already() -> None:
    seen, meter = [], Meter()
    run = meter.on(Execution(see=lambda mask: seen.append(mask.shape)))
    Transformer(tiny_shape(n_layers=1)).forward(np.arange(4), run=run)
    assert seen == [(4, 4)] and meter.pairs == 16
