"""Three ways, one answer: the logits of each request alone; wrong use is refused."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.transformer import (
    Packing,
    Transformer,
    tiny_latent,
    tiny_moe,
    tiny_shape,
)
from llmserve_lab.varlen.strategies import WAYS, Way, bounds, compared, varlen
from tests.depth import examples
from tests.varlen.batches import carried_out, model, prompts

LENGTHS = st.lists(st.integers(1, 8), min_size=1, max_size=5)
KINDS = {
    "grouped": tiny_shape(),
    "latent": tiny_shape(attention=tiny_latent()),
    "experts": tiny_shape(ffn=tiny_moe()),
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@given(lengths=LENGTHS, seed=st.integers(0, 99))
@settings(max_examples=examples(25))
def test_all_ways_give_the_logits_of_each_request_alone(
    lengths: list[int], seed: int
) -> None:
    tokens = prompts(lengths, seed)
    alone = [model().forward(tokens[a:b]) for a, b in pairwise(bounds(tokens, lengths))]
    for way in WAYS.values():
        found = way(model(), tokens, lengths).logits
        assert [len(each) for each in found] == lengths
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@every_way
def test_so_it_is_for_every_kind_of_block(way: Way, kind: str) -> None:
    other, lengths = Transformer(KINDS[kind], seed=3), [4, 1, 7]
    tokens = prompts(lengths)
    alone = np.concatenate(
        [other.forward(tokens[a:b]) for a, b in ((0, 4), (4, 5), (5, 12))]
    )
    found = np.concatenate(way(other, tokens, lengths).logits)
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-10)


@given(lengths=LENGTHS)
@settings(max_examples=examples(25))
def test_nothing_is_lost_between_computed_useful_and_wasted(lengths: list[int]) -> None:
    done = {way: carried_out(way, lengths) for way in WAYS}
    for each in done.values():
        assert each.useful_rows == sum(lengths)
        assert each.n_rows == each.useful_rows + each.wasted_rows
        assert each.pairs == each.useful_pairs + each.wasted_pairs
        assert each.linear_flops % each.n_rows == 0
    assert len({each.useful_pairs for each in done.values()}) == 1
    assert done["varlen"].pairs <= min(done["masked"].pairs, done["padded"].pairs)
    assert done["masked"].n_rows == done["varlen"].n_rows <= done["padded"].n_rows


def test_what_padding_is_made_of_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = carried_out("padded", [2, 6]).logits
    monkeypatch.setattr("llmserve_lab.varlen.strategies.PADDING", 9)
    for one, other in zip(before, carried_out("padded", [2, 6]).logits, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_comparison_says_so() -> None:
    found = compared(model(), prompts([10, 30]), [10, 30])
    assert list(found) == list(WAYS)
    assert max(apart for _, apart in found.values()) < 1e-10
    pairs = {"padded": 2 * 30**2, "masked": (10 + 30) ** 2, "varlen": 10**2 + 30**2}
    assert {name: out.pairs for name, (out, _) in found.items()} == pairs


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ([2, 2], "lengths must add up to the number of tokens, 5, got 4"),
        ([2, 4], "lengths must add up to the number of tokens, 5, got 6"),
        ([5, 0], "lengths must each be at least 1 token, got 0 for request 1"),
        ([-1, 6], "lengths must each be at least 1 token, got -1 for request 0"),
        ([], "lengths must hold at least 1 request, got none"),
    ],
)
@every_way
def test_lengths_that_do_not_fit_are_refused(
    way: Way, lengths: list[int], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        way(model(), prompts([5]), lengths)


@every_way
def test_a_length_is_a_whole_number(way: Way) -> None:
    lengths: Any = (2.0, 3.0)
    with pytest.raises(TypeError, match=r"lengths must be whole numbers, got 2\.0"):
        way(model(), prompts([5]), lengths)


@pytest.mark.parametrize(
    ("cu_seqlens", "said"),
    [
        ((0, 3, 3, 5), r"cu_seqlens must increase, .* got \(0, 3, 3, 5\)"),
        ((0, 4, 3, 5), r"cu_seqlens must increase, .* got \(0, 4, 3, 5\)"),
        ((1, 5), r"cu_seqlens must start at 0 .* got \(1, 5\)"),
        ((0, 4), "cu_seqlens must end at the number of tokens, 5, got 4"),
    ],
)
def test_boundaries_that_do_not_increase_leave_the_caches_empty(
    cu_seqlens: tuple[int, ...], said: str
) -> None:
    caches = [model().new_cache(8) for _ in cu_seqlens[1:]]
    with pytest.raises(ValueError, match=said):
        model().forward_packed(prompts([5]), cu_seqlens, caches)
    assert [cache.length for cache in caches] == [0] * len(caches)


def test_a_boundary_in_the_wrong_place_changes_the_answer() -> None:
    """The test above would pass for a kernel that ignores boundaries; this one not."""
    tokens = prompts([4, 5])
    right = np.concatenate(varlen(model(), tokens, [4, 5]).logits)
    wrong = np.concatenate(varlen(model(), tokens, [5, 4]).logits)
    assert np.abs(right[:4] - wrong[:4]).max() < 1e-10
    assert np.abs(right[4:] - wrong[4:]).max(axis=1).min() > 1e-3
    assert Packing((0, 4, 9), (0, 0)).lengths == (4, 5)
