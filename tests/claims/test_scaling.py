"""What the scaling chapter's records rest on, played out a second time."""

import random
from itertools import pairwise

import numpy as np
import pytest

from llmserve_lab.claims.scaling_batching import (
    PROMPT_OF_SKETCH,
    cached_at_first_decode,
)
from llmserve_lab.claims.scaling_context import results_travel
from llmserve_lab.claims.scaling_speculation import emitted, passes


def test_accept_or_reject_by_drawing_has_the_law_of_the_target() -> None:
    """As the listing does it, one token at a time, with no code of the book."""
    target, draft = [0.6, 0.3, 0.1], [0.2, 0.5, 0.3]
    rng, times, seen = random.Random(5), 40_000, [0, 0, 0]
    for _ in range(times):
        (x,) = rng.choices(range(3), draft)
        if rng.random() >= min(1, target[x] / draft[x]):
            left = [max(p - q, 0) for p, q in zip(target, draft, strict=True)]
            (x,) = rng.choices(range(3), left)
        seen[x] += 1
    assert [n / times for n in seen] == pytest.approx(target, abs=0.01)


def test_the_example_is_counted() -> None:
    assert [passes("target", n) for n in (1, 4, 5)] == [1, 4, 5]
    assert [emitted(4, kept) for kept in range(5)] == [1, 2, 3, 4, 5]


def test_keys_that_come_by_may_be_merged_where_the_queries_are() -> None:
    """Online softmax over blocks in any order: no partial result needs to be sent."""
    rng = np.random.default_rng(3)
    queries, keys, values = (rng.standard_normal((12, 8)) for _ in range(3))
    weights = np.exp(queries @ keys.T)
    whole = weights @ values / weights.sum(axis=1, keepdims=True)
    mixed, total = np.zeros((12, 8)), np.zeros((12, 1))
    for first, last in pairwise((0, 3, 6, 9, 12)):
        block = np.exp(queries @ keys[first:last].T)
        mixed += block @ values[first:last]
        total += block.sum(axis=1, keepdims=True)
    assert np.allclose(mixed / total, whole, atol=1e-12)
    assert results_travel("pass-Q") and not results_travel("pass-KV")


def test_the_sketch_decodes_on_an_empty_cache() -> None:
    assert cached_at_first_decode(prefilled=False) == 0
    assert cached_at_first_decode(prefilled=True) == PROMPT_OF_SKETCH
