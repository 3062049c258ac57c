"""Hints follow from the mistake that they name, prompts ask what is answered.

A second reading, made from the prompts alone: what each wrong computation makes of the
right answer, which mistake leads to which wrong option, and which words of a prompt
decide what is right.
"""

import re
from collections.abc import Iterator

import pytest

from llmserve_lab.formula.text import without_links
from llmserve_lab.page.question.content import text_of
from llmserve_lab.page.question.judge import hints
from llmserve_lab.page.question.question import Question, questions
from planted.charts import OPPOSITE
from tests.page.reading import LESS, MORE, collected

MINE = questions()
NUMERIC = [name for name, question in MINE.items() if not question.choices]
CHOICES = [name for name, question in MINE.items() if question.choices]
SLIPS, MISTAKES = collected("SLIPS"), collected("MISTAKES")
ASKED, RIGHT = collected("ASKED"), collected("RIGHT")


# Wrong numbers that only a solver finds: of these no more than the side is known.
BY_SIDE = {"afd.best-ratio", "afd.loop", "continuous-batching.chunk-fits"}


def told(question: Question) -> dict[str, float]:
    """Words of each hint, and the answer to which they are told."""
    return {plain_text(text_of(h.text)): float(h.value()) for h in question.hints}


def plain_text(text: str) -> str:
    """A text without links and emphasis."""
    return without_links(text).replace("*", "")


def test_every_question_was_read_twice() -> None:
    assert set(SLIPS) == set(NUMERIC)
    assert set(RIGHT) == set(MISTAKES) == set(CHOICES)
    assert set(ASKED) == set(MINE)


def test_a_wrong_number_is_computed_from_its_mistake() -> None:
    loose = {n for n, slips in SLIPS.items() if {MORE, LESS} & {*slips.values()}}
    assert loose == BY_SIDE


@pytest.mark.parametrize("name", NUMERIC)
def test_a_hint_is_told_to_the_number_of_its_mistake(name: str) -> None:
    question, slips = MINE[name], SLIPS[name]
    found = {}
    for text, value in told(question).items():
        (words,) = (words for words in slips if words in text)
        found[words] = value / question.right
    assert set(found) == set(slips)
    for words, factor in slips.items():
        if isinstance(factor, str):
            assert (found[words] > 1) == (factor == MORE), words
        else:
            assert found[words] == pytest.approx(factor, rel=0.01), words


@pytest.mark.parametrize("name", CHOICES)
def test_a_wrong_option_is_told_its_own_mistake(name: str) -> None:
    question = MINE[name]
    said = dict(hints(question))
    assert question.choices[int(question.right)] == RIGHT[name]
    assert {question.choices[int(at)] for at in said} == set(MISTAKES[name])
    for at, text in said.items():
        assert MISTAKES[name][question.choices[int(at)]] in plain_text(str(text))


@pytest.mark.parametrize("name", MINE)
def test_a_prompt_asks_for_what_is_answered(name: str) -> None:
    prompt = plain_text(text_of(MINE[name].prompt))
    places = [prompt.find(words) for words in ASKED[name]]
    assert -1 not in places, ASKED[name][places.index(-1)]
    assert places == sorted(places)


def turned(prompt: str) -> Iterator[tuple[str, str]]:
    """The prompt with each word that has an opposite turned round, and the word."""
    for word, opposite in OPPOSITE.items():
        for found in re.finditer(rf"\b{word}\b", prompt):
            yield prompt[: found.start()] + opposite + prompt[found.end() :], word


@pytest.mark.parametrize("name", MINE)
def test_no_word_of_a_prompt_can_be_turned_round_unread(name: str) -> None:
    prompt = plain_text(text_of(MINE[name].prompt))
    for wrong, word in turned(prompt):
        places = [wrong.find(words) for words in ASKED[name]]
        assert -1 in places or places != sorted(places), f"{word} is not in ASKED"
