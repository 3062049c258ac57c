"""What a question asks to foresee comes true where it is carried out."""

import pytest

from llmserve_lab.end_to_end.example import example
from llmserve_lab.end_to_end.loops import both_loops
from llmserve_lab.end_to_end.page import questions as module
from llmserve_lab.end_to_end.toy import article_shape
from llmserve_lab.page.question.content import text_of
from llmserve_lab.transformer import Transformer


def test_the_predictions_come_true_in_a_run() -> None:
    model = Transformer(article_shape(n_layers=1, d_model=8))
    short, long = (both_loops(model, [0], new).recomputed.tally for new in (40, 80))
    assert long.pairs / short.pairs == pytest.approx(8, rel=0.05)
    assert module.predict_growth.right == 2 and module.predict_past.right == 1


def test_the_same_word_gets_the_same_weight() -> None:
    assert module.predict_the.right == 2
    words, weights = example().words, example().weights[-1]
    assert words[1] == words[3] and weights[1] == weights[3]


def test_a_request_is_run_again_as_often_as_the_page_says() -> None:
    again = sum(1000 + done for done in range(200))
    assert module.predict_rows.right == pytest.approx(again / 1199)
    assert module.per_token.right == 2 * 80 * 8 * 128 * 2


def test_a_token_costs_its_matrices_and_its_pairs() -> None:
    """Added up from the list of tensors; a token also looks at itself."""
    names = ("embed_tokens", "norm", "input_layernorm", "post_attention_layernorm")
    found = sum(e.params for e in module.BIG.tensors() if e.name not in names)
    pairs = 80 * 64 * (2 * 128 + 2 * 128) * 8001
    assert module.token.right == pytest.approx(2 * found + pairs, rel=1e-4)


def test_each_other_number_of_the_reasons_is_counted() -> None:
    rows = sum(1000 + done for done in range(200)) / 1199
    assert text_of(module.predict_rows.why).startswith(
        f"Counted, it is {rows:.3g} times: each of the 200 passes runs more than 1,000"
    )

    def pairs(answer: int) -> int:  # after a prompt of one token
        return sum((1 + done) * (2 + done) // 2 for done in range(answer))

    grown = pairs(8192) / pairs(4096)
    assert f"each see twice as much: {grown:.0f}." in text_of(module.predict_growth.why)
