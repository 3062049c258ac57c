"""The answer is taken, what leads astray is not, and both are explained."""

from __future__ import annotations

import pytest

from llmserve_lab.book.display import si
from llmserve_lab.book.judge import judge
from llmserve_lab.book.question import LETTERS, Question, text_of
from llmserve_lab.chunked_prefill import questions as module
from llmserve_lab.chunked_prefill.settings import cost
from llmserve_lab.engine import Load

MINE = [item for item in vars(module).values() if isinstance(item, Question)]
every_question = pytest.mark.parametrize("question", MINE, ids=lambda q: q.name)


def test_there_is_something_to_guess_and_something_to_work_out() -> None:
    kinds = [question.kind for question in MINE]
    assert kinds.count("predict") == 3 and len(MINE) == 7
    assert all(question.name.startswith("chunked-prefill.") for question in MINE)


@every_question
def test_the_answer_is_taken_and_explained(question: Question) -> None:
    if question.choices:
        assert judge(question, LETTERS[int(question.right)])
        assert text_of(question.why)
        return
    assert judge(question, question.right, question.unit)
    assert si(question.right, question.unit) in text_of(question.why)


@every_question
def test_what_its_own_hints_explain_is_wrong(question: Question) -> None:
    for hint in question.hints:
        said = judge(question, float(hint.value()), question.unit)
        assert not said and repr(said) == text_of(hint.text)


def test_the_chunk_that_fits_is_the_one_that_the_engine_takes() -> None:
    calm = Load(0, 0, 0)
    for _ in range(8):
        calm = calm.plus(Load.of(chunk=1, context=1024))
    for prefix in (0, module.HALF_WAY):
        rows = cost().chunk_within(0.05, load=calm, context=prefix)
        assert module.fits(prefix) == rows


def test_the_predictions_come_true_in_a_run() -> None:
    assert module.WAITS[int(module.predict_stall.right)] == "about eight seconds"
    assert module.PRICES[int(module.predict_price.right)] == "next to nothing"
    assert 4 < module.predict_late.right < 4.5
    read = sum(range(0, 32_768, 1024))
    assert module.reread.right == read
