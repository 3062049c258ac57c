"""The answer is taken, what leads astray is not, and both are explained."""

import pytest

from llmserve_lab.book.display import plain, si
from llmserve_lab.book.judge import hints, judge
from llmserve_lab.book.question import LETTERS, Question, text_of
from llmserve_lab.disaggregation import questions as module

MINE = [item for item in vars(module).values() if isinstance(item, Question)]
every_question = pytest.mark.parametrize("question", MINE, ids=lambda q: q.name)
NUMERIC = [question for question in MINE if not question.choices]
every_number = pytest.mark.parametrize("question", NUMERIC, ids=lambda q: q.name)


def test_there_is_something_to_guess_and_something_to_work_out() -> None:
    kinds = [question.kind for question in MINE]
    assert kinds.count("predict") >= 3
    assert len(MINE) - kinds.count("predict") >= 3
    assert all(question.name.startswith("disaggregation.") for question in MINE)


@every_question
def test_the_answer_is_taken(question: Question) -> None:
    answer = LETTERS[int(question.right)] if question.choices else question.right
    unit = None if question.choices else question.unit
    assert judge(question, answer, unit)


@every_number
def test_what_its_own_hints_explain_is_wrong(question: Question) -> None:
    for hint in question.hints:
        said = judge(question, float(hint.value()), question.unit)
        assert not said
        assert repr(said) == text_of(hint.text)
    assert len(hints(question)) >= len(question.hints)


@every_number
def test_the_explanation_states_the_answer(question: Question) -> None:
    shown = {si(question.right, question.unit), plain(question.right)}
    assert any(text in text_of(question.why) for text in shown)


@every_number
def test_the_prompt_does_not_give_it_away(question: Question) -> None:
    shown = f" {si(question.right, question.unit)} "
    assert shown not in text_of(question.prompt)


def test_rows_ride_along_for_free_by_the_hundred() -> None:
    assert module.predict_free.right == 2.0
    assert module.predict_rate.right == 1.0
    assert module.predict_hide.right == 1.0
