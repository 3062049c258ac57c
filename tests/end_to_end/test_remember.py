"""The five sentences that a reader keeps, each found again by other means."""

from __future__ import annotations

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog import MODELS
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.end_to_end import measured, story
from llmserve_lab.end_to_end.arguments import generating, parts_of, scoring_every_row
from llmserve_lab.end_to_end.page import figures, questions
from llmserve_lab.end_to_end.replies import reply
from llmserve_lab.end_to_end.tally import Tally
from llmserve_lab.transformer import Transformer, tiny_shape

LLAMA = catalog.model("llama-3.1-8b")
MATRICES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def test_the_last_row_gives_a_probability_to_every_token() -> None:
    logits = story.model().forward(story.tokenize(story.PROMPT))
    assert logits.shape == (4, len(story.WORDS))
    (head,) = [each for each in LLAMA.tensors() if each.name == "lm_head"]
    assert head.shape == (LLAMA.d_model, 128_256)
    copies = {e.copies for e in LLAMA.tensors() if e.name in MATRICES}
    assert copies == {LLAMA.n_layers} == {32}


def test_a_token_leaves_a_key_and_a_value_in_each_block() -> None:
    written = sum(
        each.shape[1] * each.copies * 2
        for each in LLAMA.tensors()
        if each.name in ("k_proj", "v_proj")
    )
    assert written == LLAMA.kv_bytes_per_token() == 131_072


def test_a_row_costs_two_flops_for_each_parameter_that_multiplies() -> None:
    """Counted in a small model, and added up over the large one's matrices."""
    small, tally = Transformer(tiny_shape()), Tally()
    small.forward([1], run=tally.on())
    names = (*MATRICES, "lm_head")
    shape = small.shape
    stored = sum(e.params for e in shape.tensors() if e.name in names)
    assert tally.meter.linear_flops == 2 * stored
    large = 2 * sum(e.params for e in LLAMA.tensors() if e.name in names)
    assert large == pytest.approx(15.0e9, rel=0.001)


def test_most_parameters_are_in_the_ffns() -> None:
    parts = parts_of(LLAMA)
    assert sum(parts.values()) == LLAMA.params_total
    assert parts["ffn"] / LLAMA.params_total == pytest.approx(0.70, abs=0.005)
    assert parts["norms"] < 1e6


def test_the_cache_saves_what_the_page_says_in_any_state_of_its_figure() -> None:
    figure = figures.again_or_once()
    for prompt in figures.PROMPTS:
        for answer in figures.ANSWERS:
            known = figure.values(prompt_len=prompt, new_tokens=answer)
            again = sum(prompt + done for done in range(int(answer)))
            once = prompt + answer - 1
            assert known["rows_ratio"] == pytest.approx(again / once)
            assert 1 <= known["flops_ratio"] <= answer * (1 + 1e-9)
            assert known["kv_held_bytes"] == pytest.approx(131_072 * once)
    usual = figure.values()
    assert usual["flops_ratio"] == pytest.approx(181, abs=0.5)
    assert usual["kv_held_bytes"] == pytest.approx(157e6, rel=0.002)


def test_the_factor_is_that_of_an_engine_that_scores_one_row_a_pass() -> None:
    """Added up pass by pass from the list of tensors: blocks, pairs, one scored row."""
    blocks = sum(e.params for e in LLAMA.tensors() if e.name in MATRICES)
    head = parts_of(LLAMA)["head"]
    known = generating(LLAMA) | questions.REQUEST
    texts = range(questions.PROMPT, questions.PROMPT + questions.ANSWER)
    pair = 4 * 32 * 32 * 128
    again = sum(2 * (blocks * n + head) + pair * n * (n + 1) / 2 for n in texts)
    n = questions.PROMPT
    once = 2 * (blocks * n + head) + pair * n * (n + 1) / 2
    once += sum(2 * (blocks + head) + pair * n for n in texts[1:])
    # The norms' gains are in params_active: less than a part in 10,000.
    assert f.RECOMPUTE_FLOPS.at(known) == pytest.approx(again, rel=1e-4)
    assert f.CACHED_FLOPS.at(known) == pytest.approx(once, rel=1e-4)
    assert again / once == pytest.approx(181, abs=0.5)


def test_scoring_every_row_changes_the_factor_little() -> None:
    known, head = generating(LLAMA) | questions.REQUEST, parts_of(LLAMA)["head"]
    again, once = (
        scoring_every_row(flops.at(known), rows.at(known), questions.ANSWER, head)
        for flops, rows in (
            (f.RECOMPUTE_FLOPS, f.RECOMPUTE_ROWS),
            (f.CACHED_FLOPS, f.CACHED_ROWS),
        )
    )
    rows = f.CACHED_ROWS.at(known)
    pairs = f.CACHED_PAIRS.at(known) * float(known["attn_flops_per_pair"])
    assert once - pairs == pytest.approx(2 * rows * float(known["params_active"]))
    assert again / once == pytest.approx(183, abs=0.5)


def test_prefill_runs_the_prompt_and_decode_one_row_a_pass() -> None:
    passes = reply(story.PROMPT).passes
    assert [one.computed for one in passes] == [4] + [1] * (len(passes) - 1)
    rows = float(f.CACHED_ROWS.at(questions.REQUEST))
    assert rows == questions.PROMPT + questions.ANSWER - 1 == 1199


def test_every_pass_reads_the_weights_and_decode_the_cache_as_well() -> None:
    table = parts_of(LLAMA)["embedding"]
    assert 2 * (LLAMA.params_total - table) == pytest.approx(15.0e9, rel=0.002)
    passes = reply(story.PROMPT).passes
    lengths = [4 + done for done in range(len(passes) - 1)]
    assert [one.reused for one in passes] == [0, *lengths]


def test_the_measurement_shows_that_work_is_not_time() -> None:
    again = sum(4 + done for done in range(200))
    assert measured.counted() == pytest.approx(again / 203)
    assert measured.speed_up() < measured.counted() / 20
    assert len(measured.table().rows) == 3


def test_the_larger_model_caches_only_a_little_more() -> None:
    large = MODELS["llama-3.1-70b"]
    assert large.kv_bytes_per_token() / LLAMA.kv_bytes_per_token() == 2.5
    assert large.params_total / LLAMA.params_total == pytest.approx(8.8, abs=0.1)
