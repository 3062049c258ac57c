"""A rank's share is a model in its own right, and the shares make up the whole."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import GeluFfn
from llmserve_lab.transformer import (
    Transformer,
    Weights,
    seeded,
    tiny_latent,
    tiny_moe,
    tiny_shape,
)
from llmserve_lab.transformer.shard import shape_of_share, share

BIASED = GroupedQueryAttention(
    n_heads=4, n_kv_heads=2, d_head=4, qkv_bias=True, out_bias=True
)
KINDS = {
    "grouped": tiny_shape(),
    "biased": tiny_shape(attention=BIASED, norm="layer", ffn=GeluFfn(d_ff=8)),
    "latent": tiny_shape(attention=tiny_latent()),
    "experts": tiny_shape(ffn=tiny_moe()),
}
WHOLE = ("norm", "embed", "lm_head", "router", "q_a_proj", "kv_a_proj", "o_proj.bias")


@dataclass(frozen=True)
class RankInfo:
    index: int
    num_ranks: int


def shares(model: Transformer, tp: int) -> list[Transformer]:
    return [share(model, RankInfo(index, tp)) for index in range(tp)]


@pytest.mark.parametrize("tp", [1, 2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_no_number_is_on_two_ranks_but_what_serves_all_heads(
    kind: str, tp: int
) -> None:
    model = Transformer(KINDS[kind])
    parts = [each.weights.arrays for each in shares(model, tp)]
    for name, array in model.weights.arrays.items():
        held = sum(part[name].size for part in parts)
        copied = any(word in name for word in WHOLE)
        twice = tp == 4 and name.startswith(("k_proj", "v_proj"))
        assert held == array.size * (tp if copied else 2 if twice else 1), name


@given(tp=st.sampled_from([1, 2, 3, 4, 6, 12]), n_kv=st.sampled_from([1, 2, 3, 4, 12]))
def test_a_rank_caches_its_own_heads_and_no_fewer_than_one(tp: int, n_kv: int) -> None:
    shape = tiny_shape(n_heads=12, n_kv_heads=n_kv, ffn=GeluFfn(d_ff=12))
    if n_kv % tp and tp % n_kv:
        with pytest.raises(ValueError, match=f"n_kv_heads must be .* {tp}, or a div"):
            shape_of_share(shape, tp)
        return
    cached = shape_of_share(shape, tp).kv_elements_per_token
    assert cached == max(shape.kv_elements_per_token // tp, 2 * 8 * shape.n_layers)


def test_a_bias_enters_a_sum_once() -> None:
    arrays = seeded(KINDS["biased"])
    model = Transformer(KINDS["biased"], weights=Weights(KINDS["biased"], arrays))
    biases = [each.weights.arrays["o_proj.bias"] for each in shares(model, 2)]
    assert (biases[0] == arrays["o_proj.bias"]).all() and not biases[1].any()


@pytest.mark.parametrize(
    ("shape", "tp", "message"),
    [
        (tiny_shape(), 3, "n_heads must be a multiple of tp, 3, got 4"),
        (tiny_shape(), 8, "n_heads must be a multiple of tp, 8, got 4"),
        (tiny_shape(), 0, "n_heads must be a multiple of tp, 0, got 4"),
        (tiny_shape(attention=tiny_latent()), 3, "n_heads must be a multiple of tp, 3"),
        (tiny_shape(ffn=GeluFfn(d_ff=6)), 4, "d_ff must be a multiple of tp, 4, got 6"),
        (tiny_shape(ffn=tiny_moe(d_ff=2)), 4, "d_ff must be a multiple of tp, 4"),
    ],
)
def test_a_cut_inside_a_head_is_refused(
    shape: ModelShape, tp: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        shares(Transformer(shape), tp or 1) if tp else shape_of_share(shape, tp)
