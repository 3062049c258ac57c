"""The loop: greedy and sampled, with and without a cache, the same tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.transformer import (
    Packing,
    Transformer,
    generate,
    next_token,
    tiny_shape,
)
from tests.transformer.shapes import models, prompt, seeds

MODEL = Transformer(tiny_shape())
HALF: Any = 2.5


@given(
    model=models(),
    n=st.integers(1, 4),
    seed=seeds,
    temperature=st.sampled_from([0, 0.5, 2]),
)
def test_with_and_without_a_cache_the_same_tokens(
    model: Transformer, n: int, seed: int, temperature: float
) -> None:
    start = prompt(model, n, seed)
    with_cache, without = (
        generate(model, start, 4, temperature=temperature, cached=cached,
                 rng=np.random.default_rng(seed))
        for cached in (True, False)
    )  # fmt: skip
    assert np.array_equal(with_cache, without)
    assert with_cache.shape == (4,)


def test_greedy_takes_the_largest_logit_of_the_last_row() -> None:
    sequence = [3, 1, 4]
    for token in generate(MODEL, sequence, 6):
        scores = MODEL.forward(sequence)[-1].tolist()
        assert scores[token] == max(scores)
        sequence.append(int(token))


def test_a_sample_is_reproducible_and_another_seed_gives_another() -> None:
    first, again, other = (
        generate(MODEL, [1], 20, temperature=1, rng=np.random.default_rng(seed))
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.long
def test_tokens_are_drawn_as_often_as_the_softmax_says() -> None:
    logits, rng, draws = np.log([0.5, 0.3, 0.2]), np.random.default_rng(0), 20_000
    for temperature, power in ((1, 1), (0.5, 2)):
        drawn = [next_token(logits, temperature=temperature, rng=rng)
                 for _ in range(draws)]  # fmt: skip
        share = np.bincount(drawn) / draws
        odds = np.array([0.5, 0.3, 0.2]) ** power
        assert share == pytest.approx(odds / odds.sum(), abs=0.015)


def test_of_equal_logits_the_lower_id_wins_and_the_impossible_is_never_drawn() -> None:
    assert next_token(np.array([0.0, 2.0, 2.0])) == 1
    rng, scores = np.random.default_rng(0), np.array([-np.inf, 0.0, -np.inf])
    assert {next_token(scores, temperature=1, rng=rng) for _ in range(50)} == {1}


def test_next_to_zero_a_temperature_is_greedy() -> None:
    rng, scores = np.random.default_rng(0), np.array([1.0, 3.0, 2.0])
    assert {next_token(scores, temperature=1e-320, rng=rng) for _ in range(9)} == {1}


@pytest.mark.parametrize(
    "logits", [[np.nan, 1], [np.inf, 1], [-np.inf] * 2, [[1, 2]], []]
)
def test_scores_that_no_token_can_follow_from_are_refused(logits: Any) -> None:
    with pytest.raises(ValueError, match=r"logits must be \[V\] with a finite largest"):
        next_token(np.array(logits, dtype=np.float64))


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: generate(MODEL, [1], HALF), "num_tokens"),
        (lambda: MODEL.new_cache(HALF), "capacity_tokens"),
        (lambda: MODEL.forward_packed([1, 2, 3], (0, HALF, 3)), "cu_seqlens"),
        (lambda: Packing((0, 3), (True,)), "contexts"),
    ],
)
def test_tokens_come_in_whole_numbers(call: Any, argument: str) -> None:
    with pytest.raises(TypeError, match=f"{argument} must be (a )?whole numbers?, got"):
        call()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_tokens": 0}, "num_tokens must be at least 1 token, got 0"),
        ({"temperature": -1}, "temperature must be finite and at least 0, got -1"),
        ({"temperature": np.nan}, "temperature must be finite and .* got nan"),
        ({"temperature": 1}, "rng must be given to sample at temperature 1"),
        ({"prompt": []}, "tokens must be a list of at least 1 id"),
        ({"prompt": [99]}, "tokens must be ids from 0 to 60, got 99"),
    ],
)
def test_wrong_use_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        arguments: dict[str, Any] = {"prompt": [1], "num_tokens": 2}
        generate(MODEL, **arguments | change)
