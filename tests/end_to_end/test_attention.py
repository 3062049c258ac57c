"""The dozen lines are the transformer's attention; the example's numbers add up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from llmserve_lab.end_to_end import example
from llmserve_lab.end_to_end.attention import attend, look, read_all, read_next
from llmserve_lab.transformer import attend as attend_of_the_book
from llmserve_lab.transformer import causal_mask


@pytest.mark.parametrize("n", [1, 3, 7])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_one_head_of_the_transformer(n: int, seed: int) -> None:
    m, width, rng = 7, 5, np.random.default_rng(seed)
    q, k, v = (rng.standard_normal((rows, width)) for rows in (n, m, m))
    one = attend_of_the_book(q[:, None], k[:, None], v[:, None], causal_mask(n, m))
    assert attend(q, k, v) == pytest.approx(one[:, 0])


def test_two_lists_give_the_same_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((9, 4))
    w_q, w_k, w_v = rng.standard_normal((3, 4, 4))
    weights = (w_q, w_k, w_v)
    keys: list[np.ndarray] = []
    values: list[np.ndarray] = []
    one_by_one = [read_next(row, weights, keys, values) for row in rows]
    assert np.array(one_by_one) == pytest.approx(read_all(rows, weights))
    assert len(keys) == len(values) == len(rows)


def test_the_last_row_by_hand() -> None:
    one = example.example()
    grown = [math.exp(score / 2) for score in (6, 4, 0, 4, 0)]
    weights = [each / sum(grown) for each in grown]
    assert one.products[-1].tolist() == [6, 4, 0, 4, 0]
    assert one.weights[-1] == pytest.approx(weights)
    received = dict(zip(example.FEATURES, one.mixed[-1], strict=True))
    assert received["verb"] == pytest.approx(weights[0])
    assert received["article"] == pytest.approx(weights[1] + weights[3])


def test_equal_keys_get_equal_weights_until_positions_turn_them() -> None:
    one = example.example()
    assert one.weights[-1][1] == one.weights[-1][3]
    turned = one.turned.weights[-1]
    assert turned[3] > 10 * turned[1]  # its own article, and the one of the dog
    assert turned[3] > one.weights[-1][3] and turned[2] < one.weights[-1][2]
    own, other = (4 * math.cos(distance - 1) for distance in (1, 3))
    assert turned[3] / turned[1] == pytest.approx(math.exp((own - other) / 2))
    assert np.linalg.norm(one.turned.key, axis=1) == pytest.approx(
        np.linalg.norm(one.key, axis=1)
    )


def test_no_row_looks_ahead() -> None:
    weights = look(np.ones((5, 2)), np.ones((5, 2)))
    assert weights == pytest.approx(np.tri(5) / np.arange(1, 6)[:, None])


def test_a_score_grows_with_the_root_of_the_width() -> None:
    rng = np.random.default_rng(1)
    for width in (4, 64, 256):
        q, k = rng.standard_normal((2, 20_000, width))
        assert (q * k).sum(axis=1).std() == pytest.approx(math.sqrt(width), rel=0.03)


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(ValueError, match=r"words of VECTORS, got ' cat'"):
        example.example("Give the cat")
