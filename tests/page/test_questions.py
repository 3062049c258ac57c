"""What holds for every question of the book, because it is found, not listed."""

import pytest

from llmserve_lab.formula.registry import modules
from llmserve_lab.formula.text import si, without_links
from llmserve_lab.page.question.content import LETTERS, Hint, text_of
from llmserve_lab.page.question.judge import Judgement, hints, judge
from llmserve_lab.page.question.question import Question, questions

MINE = questions().values()
every_question = pytest.mark.parametrize("question", MINE, ids=lambda q: q.name)
NUMERIC = [question for question in MINE if not question.choices]
every_number = pytest.mark.parametrize("question", NUMERIC, ids=lambda q: q.name)
CHAPTERS = [module.__name__.split(".")[1] for module in modules("page.questions")]
WITHOUT = {"continuous-batching.predict-stall", "continuous-batching.predict-price"}
INSIDE = {"disaggregation.sizing", "moe.least-ep"}  # of another number


def said(question: Question, value: float) -> Judgement:
    """What the judge says to a number, or to the choice of that index."""
    if question.choices:
        return judge(question, LETTERS[int(value)])
    return judge(question, value, question.unit)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_asks_to_guess_and_to_work_out(chapter: str) -> None:
    kinds = [q.kind for q in MINE if q.name.split(".")[0] == chapter.replace("_", "-")]
    assert kinds.count("predict") >= 3
    assert kinds.count("check") >= 3


def test_a_question_is_named_after_its_chapter() -> None:
    assert {q.name.split(".")[0].replace("-", "_") for q in MINE} == set(CHAPTERS)


@every_question
def test_the_answer_is_taken_and_explained(question: Question) -> None:
    assert said(question, question.right)
    assert text_of(question.why)


@every_question
def test_what_its_own_hints_explain_is_wrong(question: Question) -> None:
    off = [h for h in question.hints if not _is_choice(question, h)]
    for hint in off:
        wrong = said(question, float(hint.value()))
        assert not wrong and repr(wrong).endswith(without_links(text_of(hint.text)))


def _is_choice(question: Question, hint: Hint) -> bool:
    """Whether a hint is for the choice that is right with today's numbers."""
    return bool(question.choices) and float(hint.value()) == question.right


@every_question
def test_every_wrong_choice_has_a_hint_of_its_own(question: Question) -> None:
    if question.choices and question.name not in WITHOUT:
        wrong = set(range(len(question.choices))) - {question.right}
        assert {index for index, _ in hints(question)} == wrong


@every_number
def test_no_two_hints_are_about_the_same_number(question: Question) -> None:
    own = [float(hint.value()) for hint in question.hints]
    assert len(hints(question)) >= len(own) == len(set(own))


@every_number
def test_the_explanation_states_the_answer(question: Question) -> None:
    assert si(question.right, question.unit) in text_of(question.why)


@every_number
def test_the_prompt_does_not_give_it_away(question: Question) -> None:
    shown = si(question.right, question.unit)
    whole = f" {shown} " if question.name in INSIDE else shown
    assert whole not in text_of(question.prompt)
