"""Laws of the chapter's mechanism, each counted while a model runs.

The numbers are counted while a model runs, not taken from the closed forms.
"""

import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.end_to_end.arguments import counted_block
from llmserve_lab.end_to_end.loops import both_loops
from llmserve_lab.end_to_end.shapes import (
    all_blocks_alike,
    heads_are_independent,
    inside_a_block,
    step_shape,
)
from llmserve_lab.end_to_end.stability import same_bits
from llmserve_lab.end_to_end.toy import (
    TEXT,
    WORDS,
    article_shape,
    tokenize,
    toy,
)
from llmserve_lab.transformer import Transformer

TOKENS = tokenize(TEXT)
SMALL = Transformer(article_shape(n_layers=1, d_model=8))


def test_rows_go_in_and_rows_of_the_same_width_come_out() -> None:
    rows = (len(TOKENS), toy().shape.d_model)
    for place in ("block 1", "block 2"):
        for step in ("input", "+ residual, output"):
            assert step_shape(toy(), TOKENS, place=place, step=step) == rows
    assert all_blocks_alike(toy(), TOKENS)


def test_the_scores_are_the_one_square() -> None:
    for times in (1, 2, 4):
        n = times * len(TOKENS)
        tokens = TOKENS * times
        scores = step_shape(toy(), tokens, place="block 1", step="scores")
        assert scores == (toy().shape.attention.n_heads, n, n)
    once, twice = (inside_a_block(toy(), TOKENS * times).steps for times in (1, 2))
    pairs = zip(once, twice, strict=True)
    square = [a.name for a, b in pairs if b.num_bytes == 4 * a.num_bytes]
    assert square == ["mask", "scores", "masked scores", "attention weights"]


def test_heads_do_not_hear_each_other() -> None:
    assert heads_are_independent(toy(), TOKENS)


@pytest.mark.parametrize("seed", range(4))
def test_an_old_row_keeps_its_bits_as_the_sequence_grows(seed: int) -> None:
    model = Transformer(article_shape(d_model=16), seed=seed)
    tokens = [(place * 7 + seed) % len(WORDS) for place in range(64)]
    for length in (5, 6, 7, 31, 64):
        assert same_bits(model, tokens[:length], prefix=5)


def test_without_the_mask_every_new_token_changes_it() -> None:
    for length in (6, 7, 20):
        tokens = (TOKENS * 4)[:length]
        assert not same_bits(toy(), tokens, prefix=5, masked=False)


@pytest.mark.parametrize("seed", range(4))
def test_both_loops_say_the_same(seed: int) -> None:
    model = Transformer(article_shape(), seed=seed)
    both = both_loops(model, TOKENS[: seed + 1], 12)
    assert both.same_tokens and len(both.cached.tokens) == 12


def test_a_cache_runs_every_token_once() -> None:
    both = both_loops(SMALL, TOKENS, 10)
    assert both.cached.tally.rows == len(TOKENS) + 10 - 1
    assert [each.rows for each in both.cached.tally.passes] == [6] + [1] * 9


def test_running_again_is_a_factor_of_the_answer_length() -> None:
    """For a long prompt all of it, in rows and pairs alike."""
    both = both_loops(SMALL, [0] * 400, 8)
    again, once = both.recomputed.tally, both.cached.tally
    assert again.rows / once.rows == pytest.approx(8, rel=0.02)
    assert again.pairs / once.pairs == pytest.approx(8, rel=0.02)


def test_for_a_short_prompt_it_is_a_half_of_it_in_rows_and_a_third_in_pairs() -> None:
    both = both_loops(SMALL, [0], 100)
    again, once = both.recomputed.tally, both.cached.tally
    assert again.rows / once.rows == pytest.approx(100 / 2, rel=0.02)
    assert again.pairs / once.pairs == pytest.approx(100 / 3, rel=0.02)


def test_most_of_a_block_is_its_ffn() -> None:
    for key in ("llama-2-7b", "llama-3-8b", "llama-3-70b", "qwen2.5-72b"):
        block = counted_block(MODELS[key])
        assert block["ffn_params"] > block["block_params"] / 2 > block["attn_params"]
        assert block["norm_params"] < block["block_params"] / 1000
