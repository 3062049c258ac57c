"""The answer is taken, what leads astray is not, and a run agrees."""

import pytest

from llmserve_lab.book.display import si
from llmserve_lab.book.judge import hints, judge
from llmserve_lab.book.question import LETTERS, Question, text_of
from llmserve_lab.end_to_end import questions as module
from llmserve_lab.end_to_end.loops import both_loops
from llmserve_lab.end_to_end.toy import article_shape
from llmserve_lab.transformer import Transformer

MINE = [item for item in vars(module).values() if isinstance(item, Question)]
every_question = pytest.mark.parametrize("question", MINE, ids=lambda q: q.name)
NUMERIC = [question for question in MINE if not question.choices]
every_number = pytest.mark.parametrize("question", NUMERIC, ids=lambda q: q.name)


def test_there_is_something_to_guess_and_something_to_work_out() -> None:
    kinds = [question.kind for question in MINE]
    assert kinds.count("predict") >= 3 and kinds.count("check") >= 3


@every_question
def test_the_answer_is_taken(question: Question) -> None:
    answer = LETTERS[int(question.right)] if question.choices else question.right
    assert judge(question, answer, None if question.choices else question.unit)


@every_question
def test_what_its_own_hints_explain_is_wrong(question: Question) -> None:
    for hint in question.hints:
        wrong = float(hint.value())
        said = (
            judge(question, LETTERS[int(wrong)])
            if question.choices
            else judge(question, wrong, question.unit)
        )
        assert not said and repr(said) == text_of(hint.text)


@every_number
def test_the_explanation_states_the_answer_and_the_prompt_does_not(
    question: Question,
) -> None:
    shown = si(question.right, question.unit)
    assert shown in text_of(question.why) and shown not in text_of(question.prompt)
    own = [float(hint.value()) for hint in question.hints]
    assert len(hints(question)) >= len(own) == len(set(own))


def test_the_predictions_come_true_in_a_run() -> None:
    model = Transformer(article_shape(n_layers=1, d_model=8))
    short, long = (both_loops(model, [0], new).recomputed.tally for new in (40, 80))
    assert long.pairs / short.pairs == pytest.approx(8, rel=0.05)
    assert module.predict_growth.right == 2 and module.predict_past.right == 2
