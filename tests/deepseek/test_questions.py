"""The answer is taken, what leads astray is not, and both are explained."""

import pytest

from llmserve_lab.book.display import si
from llmserve_lab.book.judge import hints, judge
from llmserve_lab.book.question import LETTERS, Question, text_of
from llmserve_lab.deepseek import questions as module

MINE = [item for item in vars(module).values() if isinstance(item, Question)]
every_question = pytest.mark.parametrize("question", MINE, ids=lambda q: q.name)
NUMERIC = [question for question in MINE if not question.choices]
every_number = pytest.mark.parametrize("question", NUMERIC, ids=lambda q: q.name)


def test_there_is_something_to_guess_and_something_to_work_out() -> None:
    kinds = [question.kind for question in MINE]
    assert kinds.count("predict") >= 3
    assert len(MINE) - kinds.count("predict") >= 3
    assert all(question.name.startswith("deepseek.") for question in MINE)


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
