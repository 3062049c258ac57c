"""The tally sees what happens, shapes are those of a run, errors name their cause."""

from collections.abc import Callable

import numpy as np
import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.end_to_end.arguments import (
    block_of,
    block_table,
    counted_block,
    generating,
)
from llmserve_lab.end_to_end.loops import both_loops, reply
from llmserve_lab.end_to_end.shapes import (
    around_the_blocks,
    heads_are_independent,
    inside_a_block,
    next_distribution,
    seen_mask,
    step_shape,
)
from llmserve_lab.end_to_end.stability import growth, same_bits
from llmserve_lab.end_to_end.tally import Pass, Tally
from llmserve_lab.end_to_end.toy import (
    TEXT,
    WORDS,
    article_shape,
    spell,
    tokenize,
    toy,
)
from llmserve_lab.transformer import Transformer, tiny_latent, tiny_moe, tiny_shape

TOKENS = tokenize(TEXT)
PARTS = (f.ATTN_PARAMS, f.FFN_PARAMS, f.NORM_PARAMS, f.BLOCK_PARAMS)
LATENT = Transformer(tiny_shape(attention=tiny_latent()))
EXPERTS = Transformer(tiny_shape(ffn=tiny_moe()))
DENSE = ("llama-2-7b", "llama-3-8b", "llama-3-70b", "llama-3.1-405b", "tiny-512")


def test_words_go_to_ids_and_back() -> None:
    assert spell(TOKENS) == TEXT and len(set(WORDS)) == len(WORDS)


def test_a_pass_counts_one_triangle() -> None:
    tally = Tally()
    toy().forward(TOKENS, run=tally.on())
    n = len(TOKENS)
    assert tally.rows == n
    assert tally.pairs == sum(1 for i in range(n) for j in range(n) if j <= i)
    matrices = 6 * toy().shape.n_layers + 1  # q, k, v, o, up, down; the LM head
    assert len(tally.passes[0].rows_by_matrix) == matrices


def test_a_tally_changes_no_bit() -> None:
    tally = Tally()
    watched = toy().forward(TOKENS, run=tally.on())
    assert watched.tobytes() == toy().forward(TOKENS).tobytes()


def test_experts_see_different_rows() -> None:
    done = reply(EXPERTS, [1, 2, 3], 2, cached=True)
    with pytest.raises(ValueError, match="rows must be the same everywhere, got"):
        _ = done.tally.rows
    with pytest.raises(ValueError, match=r"pairs must be .* got \[\]"):
        _ = Pass().pairs


def test_the_table_of_passes_adds_up() -> None:
    both = both_loops(toy(), TOKENS, 7)
    for tally in (both.recomputed.tally, both.cached.tally):
        assert sum(each.rows for each in tally.passes) == tally.rows
        assert sum(each.pairs for each in tally.passes) == tally.pairs
    assert len(both.table.rows) == len(both.words) + 1


def test_the_table_of_another_vocabulary_shows_ids() -> None:
    both = both_loops(Transformer(tiny_shape()), [1, 2, 3], 3)
    assert [row[0] for row in both.table.rows[:-1]] == [*map(str, both.cached.tokens)]


def test_the_mask_is_the_lower_triangle() -> None:
    assert np.array_equal(seen_mask(toy(), TOKENS), np.tri(len(TOKENS), dtype=bool))


def test_the_next_token_is_the_likeliest() -> None:
    token, chances = next_distribution(toy(), TOKENS)
    assert chances.sum() == pytest.approx(1) and (chances > 0).all()
    assert token == chances.argmax() == reply(toy(), TOKENS, 1, cached=True).tokens[0]


def test_the_traces_show_the_model_and_its_block() -> None:
    whole, block = around_the_blocks(toy(), TOKENS), inside_a_block(toy(), TOKENS)
    assert [step.name for step in whole.steps][:2] == ["token ids", "embedding"]
    assert whole.steps[-1].shape == (len(TOKENS), len(WORDS))
    assert len(block.steps) > 20
    with pytest.raises(LookupError, match=r"step must be one of .*scores.*, got 'x'"):
        step_shape(toy(), TOKENS, place="block 1", step="x")


def test_growth_tells_the_mask_from_none() -> None:
    lengths, tokens = (5, 6, 12), TOKENS * 2
    kept = {
        masked: [
            same_bits(toy(), tokens[:length], prefix=5, masked=masked)
            for length in lengths
        ]
        for masked in (True, False)
    }
    assert kept == {True: [True, True, True], False: [True, False, False]}
    assert len(growth(toy(), tokens, prefix=5, lengths=lengths).rows) == len(lengths)


@pytest.mark.parametrize("key", DENSE)
def test_a_block_is_what_its_tensors_add_up_to(key: str) -> None:
    model = MODELS[key]
    counted, known = counted_block(model), block_of(model)
    for part in PARTS:
        assert float(part.at(known)) == counted[part.name]
    assert len(block_table(model).rows) == len(PARTS)


def test_the_article_s_block_is_twelve_squares() -> None:
    for d_model in (8, 64, 512):
        block = counted_block(article_shape(d_model=d_model))
        assert block["attn_params"] + block["ffn_params"] == 12 * d_model**2


def test_a_chapter_asks_a_model_for_what_formulas_need() -> None:
    known = generating(MODELS["llama-3-8b"]) | {"prompt_len": 8, "new_tokens": 4}
    for formula in (f.FLOPS_RATIO, f.KV_HELD_BYTES):
        assert float(formula.at(known)) > 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: tokenize("the unicorn"), "must use the words of WORDS, got 'unicorn'"),
        (lambda: spell([99]), "tokens must be 0 to 15, got 99"),
        (lambda: article_shape(d_model=30), "d_model must be a multiple of 4, got 30"),
        (lambda: same_bits(toy(), TOKENS, prefix=7), "prefix must be 1 to 6, .* got 7"),
        (lambda: block_of(MODELS["deepseek-v3"]), "keys and values, got MLA"),
        (lambda: block_of(tiny_shape(ffn=tiny_moe())), "have a dense FFN, got Moe"),
        (lambda: block_table(MODELS["qwen2.5-72b"]), "must have no qkv_bias"),
        (lambda: block_table(MODELS["qwen3-32b"]), "no qk_norm, .* got Qwen3-32B"),
        (lambda: both_loops(LATENT, [1], 2), "must cache keys and values, got MLA"),
        (lambda: both_loops(EXPERTS, [1], 2), "must have a dense FFN, got MoeFfn"),
        (lambda: heads_are_independent(toy(), [3]), "tokens must be at least 2, .* 1"),
        (lambda: heads_are_independent(LATENT, [1, 2]), "keys and values, got MLA"),
        (lambda: growth(toy(), TOKENS, prefix=5, lengths=(5, 50)), "6, got 50"),
        (lambda: growth(toy(), TOKENS, prefix=5, lengths=(4,)), "prefix, 5, .* got 4"),
        (lambda: reply(toy(), TOKENS, 0, cached=True), "num_tokens must be at least 1"),
    ],
)  # fmt: skip
def test_errors_name_argument_rule_and_value(
    wrong: Callable[[], object], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        wrong()
