"""The small model, its words and its loop: what the chapter says of them holds."""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.end_to_end import story, tokens
from llmserve_lab.end_to_end.replies import reply
from llmserve_lab.end_to_end.stability import same_bits
from llmserve_lab.transformer import generate, next_token
from llmserve_lab.transformer.sampling import chances, draw, nucleus

VOCAB = len(story.WORDS)


def test_ids_are_those_of_the_published_vocabulary() -> None:
    """Lines of ``tokenizer.model`` (base64 of the piece, then its id), read there."""
    lines = "R2l2ZQ== 36227, IHRoZQ== 279, IGRvZw== 5679, IHRoZQ== 279, IGJhbGw= 5041"
    pieces, ids = zip(*(line.split() for line in lines.split(", ")), strict=True)
    decoded = [base64.b64decode(piece).decode() for piece in pieces]
    assert tokens.pieces(story.SENTENCE) == decoded
    assert tokens.encode(story.SENTENCE) == [*map(int, ids)]


def test_merges_take_the_lowest_rank_first() -> None:
    for word in (" ball", " unbelievably", " the", "Give", " fish"):
        seen = tokens.stages(word)
        assert "".join(seen[0]) == word and len(seen[-1]) < len(seen[0])
        for before, after in pairwise(seen):
            made = [a + b for a, b in pairwise(before)]
            ranks = [tokens.RANKS[pair] for pair in made if pair in tokens.RANKS]
            (new,) = {*after} - {*before}
            assert tokens.RANKS[new] == min(ranks)


def test_every_story_is_known_by_heart() -> None:
    for begin, wanted in story.next_words().items():
        found = chances(story.model().forward(list(begin))[-1])
        assert found == pytest.approx(wanted, abs=1e-9)


def test_the_loop_is_that_of_the_transformer() -> None:
    answer = reply(story.PROMPT)
    ids = [one.token for one in answer.passes]
    same = generate(story.model(), story.tokenize(story.PROMPT), len(ids))
    assert ids == same.tolist()
    assert story.PROMPT + answer.text in story.STORIES


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("temperature", [0.0, 1.0, 2.0])
def test_a_cache_changes_no_answer(seed: int, temperature: float) -> None:
    again, once = (
        reply(story.PROMPT, temperature=temperature, seed=seed, cached=cached)
        for cached in (False, True)
    )
    assert again.text == once.text
    n, u = len(once.prompt), len(once.passes)
    assert sum(one.computed for one in once.passes) == n + u - 1
    assert sum(one.computed for one in again.passes) == sum(range(n, n + u))
    assert [one.reused for one in once.passes[1:]] == list(range(n, n + u - 1))


def test_old_rows_of_the_sentence_stay() -> None:
    ids = story.tokenize(story.SENTENCE)
    assert same_bits(story.model(), ids, prefix=4)
    assert not same_bits(story.model(), ids, prefix=4, masked=False)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-8, 8), min_size=2, max_size=12),
    st.floats(0.1, 5),
    st.floats(0.05, 1),
)
def test_top_p_keeps_the_fewest_likeliest(
    logits: list[float], temperature: float, top_p: float
) -> None:
    free = chances(np.array(logits), temperature)
    kept = nucleus(free, top_p)
    assert free[kept].sum() >= top_p - 1e-9
    assert free[kept].sum() - free[kept].min() < top_p + 1e-9
    assert free[kept].min() >= free[~kept].max(initial=0) - 1e-12
    shares = chances(np.array(logits), temperature, top_p)
    assert shares.sum() == pytest.approx(1) and not shares[~kept].any()


def test_heat_moves_chances_from_the_likeliest_to_the_others() -> None:
    logits = story.model().forward(story.tokenize(story.PROMPT))[-1]
    first = [chances(logits, t).max() for t in (0.1, 0.5, 1.0, 2.0, 50.0)]
    assert first == sorted(first, reverse=True)
    assert first[0] > 0.99 and first[-1] == pytest.approx(1 / VOCAB, rel=0.3)


def test_a_draw_is_that_of_the_transformer() -> None:
    logits = story.model().forward(story.tokenize(story.PROMPT))[-1]
    for seed in range(20):
        mine = draw(chances(logits, 1.5), np.random.default_rng(seed))
        other = next_token(logits, temperature=1.5, rng=np.random.default_rng(seed))
        assert mine == other


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: tokens.encode(" zebra"), "of letters that RANKS lists, got 'r'"),
        (lambda: story.tokenize("Give me"), "must use the words of WORDS, got ' me'"),
        (lambda: story.spell([99]), "tokens must be 0 to 15, got 99"),
        (lambda: chances(np.zeros(3), 0.0), "temperature must be positive .* got 0"),
        (lambda: chances(np.zeros(3), 1.0, 0.0), "top_p must be above 0 .* got 0"),
        (lambda: chances(np.zeros(3), 1.0, 1.5), "top_p must be above 0 .* got 1.5"),
    ],
)  # fmt: skip
def test_errors_name_argument_rule_and_value(
    wrong: Callable[[], object], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        wrong()
