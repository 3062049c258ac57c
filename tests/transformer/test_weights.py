"""Every parameter of a shape exists once, and every one is used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import GeluFfn, MoeFfn
from llmserve_lab.transformer import (
    Transformer,
    Weights,
    seeded,
    tiny_latent,
    tiny_moe,
    tiny_shape,
)
from tests.depth import examples
from tests.transformer.shapes import seeds, shapes

KINDS = {
    "llama": tiny_shape(),
    "mla-moe": tiny_shape(attention=tiny_latent(), ffn=tiny_moe(), tied=True),
    "gpt": tiny_shape(norm="layer", ffn=GeluFfn(d_ff=32)),
}
every_kind = pytest.mark.parametrize("shape", KINDS.values(), ids=KINDS)


@given(shape=shapes(), seed=seeds)
def test_every_parameter_of_the_shape_exists_once(shape: ModelShape, seed: int) -> None:
    weights = Weights(shape, seeded(shape, seed))
    assert weights.num_params == shape.params_total
    layers = [weights.layer(i) for i in range(shape.n_layers)]
    outside = [weights.embedding, *weights.final_norm]
    outside += [] if shape.tied else [weights.lm_head]
    found = [array for layer in layers for array in layer.values()] + outside
    assert sum(array.size for array in found if array is not None) == weights.num_params
    values = np.concatenate([x.ravel() for x in found if x is not None])
    assert len(np.unique(values)) == len(values)  # nothing is handed out twice


@given(shape=shapes(), seed=seeds)
@settings(max_examples=examples(25))
def test_every_parameter_is_used(shape: ModelShape, seed: int) -> None:
    """Poison one number of each copy of each tensor; the logits must show it."""
    if isinstance(shape.ffn, MoeFfn):  # every expert is chosen
        shape = replace(shape, ffn=replace(shape.ffn, top_k=shape.ffn.n_experts))
    arrays, rng = seeded(shape, seed), np.random.default_rng(seed)
    everything = np.arange(shape.vocab)
    for name, array in arrays.items():
        for copy in range(len(array) if name != "router.bias" else 0):
            poisoned = array.copy()
            poisoned[copy].flat[rng.integers(poisoned[copy].size)] = np.nan
            weights = Weights(shape, arrays | {name: poisoned})
            logits = Transformer(shape, weights=weights).forward(everything)
            assert np.isnan(logits).any(), (name, copy)


@given(shape=shapes())
def test_copies_are_handed_out_layer_by_layer_expert_by_expert(
    shape: ModelShape,
) -> None:
    """Number the copies of each tensor; walking up the layers must count them."""
    arrays = seeded(shape)
    for array in arrays.values():
        array[:] = np.arange(len(array)).reshape(-1, *[1] * (array.ndim - 1))
    weights = Weights(shape, arrays)
    seen: dict[str, list[float]] = {}
    for index in range(shape.n_layers):
        for name, array in weights.layer(index).items():
            stacked = array if "experts." in name else array[None]
            first = [float(copy.flat[0]) for copy in stacked]
            is_dense = index < getattr(shape.ffn, "n_dense_layers", 0)
            own = f"dense.{name}" if is_dense and f"dense.{name}" in arrays else name
            seen.setdefault(own, []).extend(first)
    for name, numbers in seen.items():
        assert numbers == list(range(len(arrays[name]))), name


def test_the_bias_of_a_router_chooses_but_does_not_weigh() -> None:
    shape = tiny_shape(ffn=tiny_moe(n_dense_layers=0))
    arrays = seeded(shape)
    outputs = []
    for push in (0.0, 5.0, 50.0):
        bias = np.zeros((2, 4))
        bias[:, 1] = push
        weights = Weights(shape, arrays | {"router.bias": bias})
        outputs.append(Transformer(shape, weights=weights).forward(np.arange(9)))
    assert not np.allclose(outputs[0], outputs[1])
    assert np.array_equal(outputs[1], outputs[2])


@every_kind
def test_one_seed_is_one_model(shape: ModelShape) -> None:
    first, again, other = (
        Transformer(shape, seed=seed).forward([1, 2, 3]) for seed in (4, 4, 5)
    )
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


def test_rows_keep_their_size_on_the_way_up() -> None:
    model = Transformer(tiny_shape(n_layers=16))
    rows = model.hidden(np.arange(20), [0, 20])
    assert 0.5 < rows.std() < 10


def test_weights_of_another_shape_are_refused() -> None:
    shape, other = KINDS["llama"], KINDS["gpt"]
    arrays = seeded(shape)
    with pytest.raises(ValueError, match=r"not so: q_proj$"):
        Weights(shape, {name: x for name, x in arrays.items() if name != "q_proj"})
    with pytest.raises(ValueError, match=r"q_proj must have shape \(2, 32, 32\), got"):
        Weights(shape, arrays | {"q_proj": arrays["q_proj"][:1]})
    with pytest.raises(ValueError, match="weights must be those of a tiny model"):
        Transformer(other, weights=Weights(shape, arrays))
    with pytest.raises(IndexError, match="index must be a layer, 0 to 1, got 2"):
        Weights(shape, arrays).layer(2)


def test_a_head_of_odd_width_cannot_be_turned() -> None:
    odd = GroupedQueryAttention(n_heads=2, n_kv_heads=1, d_head=3)
    with pytest.raises(ValueError, match=r"width must be even .* got 3"):
        Transformer(tiny_shape(attention=odd)).forward([1])


@pytest.mark.parametrize("scores", ["Softmax", "tanh", None])
def test_experts_are_scored_in_one_of_two_ways(scores: Any) -> None:
    message = f"router_scores must be one of softmax, sigmoid, got {scores!r}"
    with pytest.raises(ValueError, match=message):
        Transformer(KINDS["gpt"], router_scores=scores)
