"""What layers keep: against a token-by-token play, and the patterns of the configs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.catalog.records.cache_layers import CacheLayers

# Which layers see all tokens, written as the configs write it.
PATTERNS = {
    "gpt-oss-120b": ["window", "full"] * 18,
    "gemma-3-27b": (["window"] * 5 + ["full"]) * 10 + ["window"] * 2,
    "llama-4-scout": (["window"] * 3 + ["full"]) * 12,
    "qwen3-next-80b": (["state"] * 3 + ["full"]) * 12,
    "mistral-7b-v0.1": ["window"] * 32,
}


@pytest.mark.parametrize("key", PATTERNS)
def test_layers_are_those_of_the_pattern(key: str) -> None:
    one, pattern = CACHE_LAYERS[key], PATTERNS[key]
    found = (one.full_layers, one.window_layers, one.state_layers)
    assert found == tuple(pattern.count(kind) for kind in ("full", "window", "state"))
    if one.shape is not None:
        assert one.layers == one.shape.n_layers


@given(
    key=st.sampled_from(sorted(CACHE_LAYERS)),
    tokens=st.integers(0, 20_000),
)
def test_a_window_forgets_and_a_state_does_not_grow(key: str, tokens: int) -> None:
    one = CACHE_LAYERS[key]
    kept = range(tokens)
    inside = kept[-one.window :] if one.window else ()
    numbers = one.full_layers * len(kept) + one.window_layers * len(inside)
    numbers = numbers * one.kv_elements + one.state_layers * one.state_elements
    assert one.request_bytes(tokens) == 2 * numbers


def test_models_of_one_kind_keep_what_their_shape_says() -> None:
    for one in CACHE_LAYERS.values():
        if one.shape is not None:
            assert one.naive_token_bytes() == one.shape.kv_bytes_per_token()


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="window must be at least 1 token, got 0"):
        CacheLayers(
            name="x", kind="x", source="x", kv_elements=1, full_layers=0,
            window_layers=1,
        )  # fmt: skip
    with pytest.raises(ValueError, match="layers must be at least 1 layer, got 0"):
        CacheLayers(name="x", kind="x", source="x", kv_elements=1, full_layers=0)
