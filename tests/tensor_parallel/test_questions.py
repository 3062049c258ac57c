"""The answer is taken, what leads astray is not, and both are explained."""

from __future__ import annotations

import pytest

from llmserve_lab.book.display import si
from llmserve_lab.book.judge import judge
from llmserve_lab.book.question import LETTERS, Question, text_of
from llmserve_lab.tensor_parallel import article, midhead
from llmserve_lab.tensor_parallel import questions as module

MINE = [item for item in vars(module).values() if isinstance(item, Question)]
every_question = pytest.mark.parametrize("question", MINE, ids=lambda q: q.name)


def said(question: Question, value: float) -> object:
    """What the judge says to a number, or to the choice of that index."""
    if question.choices:
        return judge(question, LETTERS[int(value)])
    return judge(question, value, question.unit)


@every_question
def test_the_answer_is_taken_and_explained(question: Question) -> None:
    assert said(question, question.right)
    if not question.choices:
        answer = si(question.right, question.unit)
        assert answer in text_of(question.why)
        assert answer not in text_of(question.prompt)


@every_question
def test_what_its_own_hints_explain_is_wrong(question: Question) -> None:
    for hint in question.hints:
        wrong = said(question, float(hint.value()))
        assert not wrong and repr(wrong) == text_of(hint.text)


def test_there_is_something_to_guess_and_something_to_work_out() -> None:
    kinds = [question.kind for question in MINE]
    assert kinds.count("predict") == kinds.count("check") == 3


def test_the_predictions_come_true_on_ranks() -> None:
    sent = {
        name: article.execute(name, 2, article.batch()).ledger.sent_bytes(rank=0)
        for name in ("gathered", "paired")
    }
    assert sent["paired"] > sent["gathered"] / 2 and module.predict_bytes.right == 2
    rows, weights = article.batch()[:, :16], midhead.projections(16, 1)
    assert midhead.error(2, rows, weights, synced=False) > 0.01
    assert module.predict_head.right == 1
