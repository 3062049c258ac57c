"""The independent model: one request after another, on no rank at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from llmserve_lab.catalog import ModelShape
from llmserve_lab.transformer import (
    Transformer,
    next_token,
    tiny_latent,
    tiny_moe,
    tiny_shape,
)
from llmserve_lab.transformer.arithmetic import Array

SHAPES = st.sampled_from(
    [
        tiny_shape(n_layers=4, n_heads=8, n_kv_heads=2, d_model=64),
        tiny_shape(n_layers=5, n_heads=4, n_kv_heads=4),
        tiny_shape(n_layers=4, attention=tiny_latent()),
        tiny_shape(n_layers=4, ffn=tiny_moe()),
        tiny_shape(n_layers=4, norm="layer", n_kv_heads=1),
    ]
)


def tokens(shape: ModelShape, many: int, seed: int) -> tuple[int, ...]:
    """Random token ids."""
    drawn = np.random.default_rng(seed).integers(0, shape.vocab, many)
    return tuple(map(int, drawn))


def answers(model: Transformer, prompt: Sequence[int], num_tokens: int) -> list[Array]:
    """Logits of the prompt [n, V], then [1, V] of each token that follows."""
    cache = model.new_cache(len(prompt) + num_tokens)
    found = [model.forward(prompt, cache)]
    for _ in range(num_tokens - 1):
        found.append(model.forward([next_token(found[-1][-1])], cache))
    return found


def same(found: Array, wanted: Array) -> None:
    """Equal to 1e-10."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)
