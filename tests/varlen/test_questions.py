"""The answer is taken, what leads astray is not, and both are explained."""

import pytest

from llmserve_lab.book.display import si
from llmserve_lab.book.judge import judge
from llmserve_lab.book.question import LETTERS, Question, text_of
from llmserve_lab.varlen import questions as module
from tests.varlen.batches import carried_out

MINE = [item for item in vars(module).values() if isinstance(item, Question)]
every_question = pytest.mark.parametrize("question", MINE, ids=lambda q: q.name)


def test_there_is_something_to_guess_and_something_to_work_out() -> None:
    kinds = [question.kind for question in MINE]
    assert kinds.count("predict") == 3 and len(MINE) == 7
    assert all(question.name.startswith("varlen.") for question in MINE)


@every_question
def test_the_answer_is_taken_and_explained(question: Question) -> None:
    if question.choices:
        assert judge(question, LETTERS[int(question.right)])
        return
    assert judge(question, question.right, question.unit)
    shown = si(question.right, question.unit, 6 if question.unit == "pair" else 3)
    assert shown in text_of(question.why)


@every_question
def test_what_its_own_hints_explain_is_wrong(question: Question) -> None:
    for hint in question.hints:
        said = judge(question, float(hint.value()), question.unit)
        assert not said and repr(said) == text_of(hint.text)


def test_the_predictions_come_true_in_a_run() -> None:
    assert module.predict_masked.right == carried_out("masked", [10, 30]).pairs
    long, short = (carried_out("varlen", x).pairs for x in ([100], [10] * 10))
    assert module.predict_split.right == long / short
    assert module.BRANCHES[int(module.predict_dominates.right)] == "the linear layers"


def test_a_row_is_most_often_one_of_the_long_request() -> None:
    lengths = [100, 100, 100, 3700]
    answers = [length for length in lengths for _ in range(length)]
    assert module.row.right == sum(answers) / len(answers)
