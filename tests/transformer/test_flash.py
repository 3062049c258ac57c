"""Tiled, split and plain attention are one function, whatever the tiles and splits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.transformer import (
    FlashKernel,
    HbmMeter,
    Meter,
    Partial,
    RunningSoftmax,
    Transformer,
    attend,
    causal_mask,
    cumulative,
    flash_attention,
    masked_attention,
    merge,
    plain_attention,
    split_decode,
    tile_reads,
    varlen_attention,
)
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.tiling import Outer
from tests.depth import examples
from tests.transformer.shapes import prompt, seeds, shapes

OUTERS: st.SearchStrategy[Outer] = st.sampled_from(["queries", "keys"])
side = st.integers(1, 7)


@st.composite
def attentions(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    """Queries [n, h, 3], keys [m, h_kv, 3], values [m, h_kv, 2]; large scores, too."""
    n, cached = draw(st.integers(1, 9)), draw(st.integers(0, 9))
    n_kv, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    size = draw(st.sampled_from([0.0, 1.0, 40.0]))
    m = n + cached
    return (
        size * rng.standard_normal((n, n_kv * group, 3)),
        rng.standard_normal((m, n_kv, 3)),
        rng.standard_normal((m, n_kv, 2)),
    )


def plain(query: Array, key: Array, value: Array) -> Array:
    return attend(query, key, value, causal_mask(len(query), len(key)))


@given(parts=attentions(), tile_rows=side, tile_keys=side, outer=OUTERS)
@settings(max_examples=examples(150))
def test_tiled_is_plain(
    parts: tuple[Array, Array, Array], tile_rows: int, tile_keys: int, outer: Outer
) -> None:
    got = flash_attention(*parts, tile_rows=tile_rows, tile_keys=tile_keys, outer=outer)
    np.testing.assert_allclose(got, plain(*parts), rtol=0, atol=1e-10)


@given(parts=attentions(), tile_keys=side, data=st.data())
@settings(max_examples=examples(150))
def test_split_and_merged_is_plain(
    parts: tuple[Array, Array, Array], tile_keys: int, data: st.DataObject
) -> None:
    query, key, value = parts[0][-1], *parts[1:]
    n_split = data.draw(st.integers(1, len(key)))
    got = split_decode(query, key, value, n_split=n_split, tile_keys=tile_keys)
    want = plain(query[np.newaxis], key, value)[0]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-10)


@st.composite
def batches(draw: st.DrawFn) -> tuple[Transformer, list[int], int]:
    shape = draw(shapes(most_layers=2))
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    return Transformer(shape, seed=draw(st.integers(0, 99))), lengths, draw(seeds)


@given(
    batch=batches(),
    tile_rows=side,
    tile_keys=side,
    outer=OUTERS,
    pieces=st.sampled_from([varlen_attention, masked_attention]),
)
@settings(max_examples=examples(60))
def test_a_model_on_tiles_has_its_logits(
    batch: tuple[Transformer, list[int], int],
    tile_rows: int,
    tile_keys: int,
    outer: Outer,
    pieces: Any,
) -> None:
    """Every kind of attention and FFN, prompts packed, then a decode from the cache."""
    model, lengths, seed = batch
    tokens, cu = prompt(model, sum(lengths), seed), cumulative(lengths)
    kernel = FlashKernel(
        tile_rows=tile_rows, tile_keys=tile_keys, outer=outer, pieces=pieces
    )
    found = []
    for own in (varlen_attention, kernel):
        caches = [model.new_cache(length + 1) for length in lengths]
        first = model.forward_packed(tokens, cu, caches, kernel=own)
        each = tuple(range(len(lengths) + 1))
        next_ = model.forward_packed(tokens[: len(lengths)], each, caches, kernel=own)
        found.append(np.concatenate([first, next_]))
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-10)


@given(scores=st.lists(st.floats(-700, 700), min_size=1, max_size=12), data=st.data())
@settings(max_examples=examples(100))
def test_the_running_softmax_is_the_softmax_at_every_cut(
    scores: list[float], data: st.DataObject
) -> None:
    values = np.arange(1.0, len(scores) + 1)
    cut = data.draw(st.integers(0, len(scores)))
    state = RunningSoftmax.empty((1,), 1)
    for part in (slice(0, cut), slice(cut, None)):
        if len(scores[part]):
            state.add(np.array([scores[part]]), values[part][:, np.newaxis])
    weights = np.exp(np.array(scores) - max(scores))
    assert state.output[0, 0] == pytest.approx(weights @ values / weights.sum())
    assert state.log_sum_exp[0] == pytest.approx(np.logaddexp.reduce(scores))


@given(logs=st.lists(st.floats(-500, 500), min_size=3, max_size=6))
@settings(max_examples=examples(50))
def test_merging_in_any_grouping_is_the_same(logs: list[float]) -> None:
    rng = np.random.default_rng(0)
    parts = [Partial(rng.standard_normal(2), np.array(log)) for log in logs]
    at_once = merge(parts)
    one_by_one = parts[0]
    for part in parts[1:]:
        one_by_one = merge([one_by_one, part])
    np.testing.assert_allclose(one_by_one.output, at_once.output, atol=1e-10)
    np.testing.assert_allclose(one_by_one.log_sum_exp, at_once.log_sum_exp, atol=1e-9)


def test_a_lost_factor_is_seen() -> None:
    """Without the rescaling the second tile would be weighed wrongly."""
    state = RunningSoftmax.empty((1,), 1)
    state.add(np.array([[1.0]]), np.array([[1.0]]))
    factor = state.add(np.array([[3.0]]), np.array([[0.0]]))
    assert factor[0] == pytest.approx(np.exp(-2.0))
    assert state.output[0, 0] == pytest.approx(1 / (1 + np.exp(2.0)))


def test_the_same_pairs_and_flops_where_tiles_fit_the_mask() -> None:
    rng = np.random.default_rng(0)
    query, key, value = rng.standard_normal((3, 8, 2, 4))
    done = {}
    for tile in (1, 2, 8):
        meter = Meter()
        flash_attention(
            query, key, value, tile_rows=tile, tile_keys=tile, run=meter.on()
        )
        done[tile] = meter.pairs, meter.useful_pairs, meter.attn_flops
    assert done[1][0] == done[1][1] == 36 and done[8][0] == 64
    assert {useful for _, useful, _ in done.values()} == {36}
    assert all(flops == pairs * 2 * 2 * 8 for pairs, _, flops in done.values())


def test_scores_never_pass_the_meter_of_the_tiled_kernel() -> None:
    query, key, value = np.random.default_rng(0).standard_normal((3, 8, 1, 4))
    for outer in ("queries", "keys"):
        hbm = HbmMeter()
        flash_attention(
            query, key, value, tile_rows=4, tile_keys=2, outer=outer, hbm=hbm
        )
        assert "scores" not in {*hbm.reads, *hbm.writes}
    hbm = HbmMeter()
    mask = causal_mask(8, 8)
    out = plain_attention(query[:, 0], key[:, 0], value[:, 0], mask, hbm=hbm)
    np.testing.assert_allclose(out, plain(query, key, value)[:, 0], atol=1e-12)
    assert hbm.reads["scores"] == hbm.writes["scores"] == 64


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        ((0, 4), "tile_rows must be at least 1, got 0"),
        ((4, 0), "tile_keys must be at least 1, got 0"),
        ((-2, 4), "tile_rows must be at least 1, got -2"),
        ((4, 2.5), "tile_keys must be a whole number, got 2.5"),
    ],
)
def test_a_tile_has_whole_sides(sides: tuple[Any, Any], said: str) -> None:
    parts = np.ones((3, 4, 1, 2))
    with pytest.raises(ValueError, match=said):
        flash_attention(*parts, tile_rows=sides[0], tile_keys=sides[1])
    with pytest.raises(ValueError, match=said):
        FlashKernel(tile_rows=sides[0], tile_keys=sides[1])


def test_an_unknown_outer_loop_is_refused() -> None:
    outer: Any = "rows"
    with pytest.raises(ValueError, match="outer must be one of queries, keys, got"):
        FlashKernel(tile_rows=1, tile_keys=1, outer=outer)
    with pytest.raises(ValueError, match="outer must be one of queries, keys, got"):
        flash_attention(*np.ones((3, 4, 1, 2)), tile_rows=1, tile_keys=1, outer=outer)


@pytest.mark.parametrize("name", ["query", "key", "value"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_no_number_is_refused(name: str, wrong: float) -> None:
    arrays = {each: np.ones((4, 1, 2)) for each in ("query", "key", "value")}
    arrays[name][2, 0, 1] = wrong
    said = rf"{name} must hold finite numbers, got {wrong} at \(2, 0, 1\)"
    with pytest.raises(ValueError, match=said):
        query, key, value = arrays.values()
        flash_attention(query, key, value, tile_rows=2, tile_keys=2)
    if name != "query":
        with pytest.raises(ValueError, match=said):
            split_decode(
                arrays["query"][0], arrays["key"], arrays["value"],
                n_split=2, tile_keys=2,
            )  # fmt: skip


def test_a_score_that_is_no_number_is_refused() -> None:
    state = RunningSoftmax.empty((1,), 1)
    with pytest.raises(ValueError, match="scores must be numbers or -inf, got nan"):
        state.add(np.array([[np.nan]]), np.ones((1, 1)))
    with pytest.raises(ValueError, match="every row must see a key, got one"):
        _ = state.output


@pytest.mark.parametrize(
    ("n_split", "said"),
    [
        (0, "n_split must be at least 1, got 0"),
        (5, "n_split must be at most the number of keys, 4, got 5"),
        (1.5, "n_split must be a whole number, got 1.5"),
    ],
)
def test_a_split_has_keys(n_split: Any, said: str) -> None:
    query, key, value = np.ones((1, 2)), np.ones((4, 1, 2)), np.ones((4, 1, 2))
    with pytest.raises(ValueError, match=said):
        split_decode(query, key, value, n_split=n_split, tile_keys=2)
    with pytest.raises(ValueError, match="parts must hold at least 1 split, got none"):
        merge([])


@given(
    prompt_len=st.integers(1, 20),
    chunk=st.integers(1, 20),
    tile=st.integers(1, 9),
)
@settings(max_examples=examples(60))
def test_a_prompt_in_chunks_fetches_the_keys_that_are_foretold(
    prompt_len: int, chunk: int, tile: int
) -> None:
    """Chunk after chunk, cached keys too; tiles of one key, so that none is in vain."""
    rng, hbm = np.random.default_rng(0), HbmMeter()
    query, key, value = rng.standard_normal((3, prompt_len, 1, 2))
    found = []
    for start in range(0, prompt_len, chunk):
        end = min(start + chunk, prompt_len)
        found.append(
            flash_attention(
                query[start:end], key[:end], value[:end],
                tile_rows=tile, tile_keys=1, hbm=hbm,
            )
        )  # fmt: skip
    np.testing.assert_allclose(
        np.concatenate(found), plain(query, key, value), rtol=0, atol=1e-10
    )
    want = tile_reads(prompt_len=prompt_len, chunk=chunk, tile=tile)
    assert hbm.reads["key"] == 2 * want
