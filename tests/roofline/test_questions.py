"""The answer is taken, what leads astray is not, and both are explained."""

import pytest

from llmserve_lab.book.display import si
from llmserve_lab.book.judge import hints, judge
from llmserve_lab.book.question import LETTERS, Question, text_of
from llmserve_lab.roofline import questions as module
from llmserve_lab.roofline.walk import walk

MINE = [item for item in vars(module).values() if isinstance(item, Question)]
every_question = pytest.mark.parametrize("question", MINE, ids=lambda q: q.name)
NUMERIC = [question for question in MINE if not question.choices]
every_number = pytest.mark.parametrize("question", NUMERIC, ids=lambda q: q.name)


def test_there_is_something_to_guess_and_something_to_work_out() -> None:
    kinds = [question.kind for question in MINE]
    assert kinds.count("predict") >= 3
    assert len(MINE) - kinds.count("predict") >= 3
    assert all(question.name.startswith("roofline.") for question in MINE)


@every_question
def test_the_answer_is_taken(question: Question) -> None:
    answer = LETTERS[int(question.right)] if question.choices else question.right
    unit = None if question.choices else question.unit
    assert judge(question, answer, unit)


@every_question
def test_what_its_own_hints_explain_is_wrong(question: Question) -> None:
    for hint in question.hints:
        wrong = float(hint.value())
        if question.choices:
            said = judge(question, LETTERS[int(wrong)])
        else:
            said = judge(question, wrong, question.unit)
        assert not said
        assert repr(said) == text_of(hint.text)


@every_number
def test_no_two_hints_are_about_the_same_number(question: Question) -> None:
    own = [float(hint.value()) for hint in question.hints]
    assert len(hints(question)) >= len(own)
    assert len(set(own)) == len(own)


@every_number
def test_the_explanation_states_the_answer(question: Question) -> None:
    assert si(question.right, question.unit) in text_of(question.why)


@every_question
def test_the_prompt_does_not_give_it_away(question: Question) -> None:
    if not question.choices:
        assert si(question.right, question.unit) not in text_of(question.prompt)


def test_the_predictions_come_true_in_a_walk() -> None:
    from llmserve_lab.catalog import MODELS

    def decode(batch: int) -> float:
        bill = walk(MODELS["llama-2-7b"], batch=batch, context=2**17, chunk=1)
        return bill.iteration_flops / bill.iteration_bytes

    assert module.predict_batch.right == 1
    assert decode(64) / decode(32) == pytest.approx(1, abs=0.02)
    long = walk(MODELS["llama-2-7b"], batch=1, context=2**20, chunk=2048)
    assert long.iteration_flops / long.iteration_bytes > module.predict_ridge.right
    assert module.predict_prefill.right == 1


def test_the_last_request_that_fits_does_and_one_more_does_not() -> None:
    from llmserve_lab.catalog import ACCELERATORS, MODELS

    batch = int(module.fits.right)
    held = [
        walk(MODELS["llama-3-8b"], batch=b, context=8192, chunk=1).iteration_bytes
        for b in (batch, batch + 1)
    ]
    assert held[0] <= float(ACCELERATORS["h200-sxm"].hbm_bytes) < held[1]


def test_the_ridge_itself_is_compute_bound() -> None:
    assert module.side(295.0, 295.0) == 1.0
    assert module.side(294.9, 295.0) == 0.0
