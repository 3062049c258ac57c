"""Every number that a check answers with is computed, and stands between its words."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.page import messages_arrays, messages_loops, messages_runs
from tests.page.messages import CHECKED, Answer

MODULES = (messages_arrays, messages_loops, messages_runs)
ANSWERS: list[Answer] = [each for module in MODULES for each in module.ANSWERS]
NAMES = [f"{each.chapter}: {each.words[:60]}" for each in ANSWERS]


@cache
def said(place: int) -> str:
    """What a check answers; it runs but once."""
    return ANSWERS[place].said()


@pytest.mark.parametrize("place", range(len(ANSWERS)), ids=NAMES)
def test_an_answer_says_what_was_computed(place: int) -> None:
    assert ANSWERS[place].untold(said(place)) == []


def pattern(text: ast.expr) -> str:
    """A message as what it says, with anything for its values."""
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    words = (
        re.escape(" ".join(str(part.value).split(" ")))
        if isinstance(part, ast.Constant)
        else ".*"
        for part in parts
    )
    return re.sub(r"(?:\\?\s)+", " ", "".join(words))


def worded(text: ast.JoinedStr) -> bool:
    """Whether a text with values has words beside them: a number's format has none."""
    return {type(part) for part in text.values} == {ast.Constant, ast.FormattedValue}


def messages(chapter: str) -> Iterator[str]:
    """Texts with values in a checker's module, and what it answers without any."""
    module = ast.parse(inspect.getsource(CHECKED[chapter]))
    mixed = (each for each in ast.walk(module) if isinstance(each, ast.JoinedStr))
    yield from (pattern(each) for each in mixed if worded(each))
    functions = (each for each in ast.walk(module) if isinstance(each, ast.FunctionDef))
    for function in functions:
        checks = function.name == "check" or function.name.startswith("_")
        for node in ast.walk(function) if checks else ():
            if isinstance(node, ast.Raise | ast.Return):
                texts = (t for t in ast.walk(node) if isinstance(t, ast.Constant))
                words = (t for t in texts if len(str(t.value).split()) > 4)
                yield from map(pattern, words)


@pytest.mark.parametrize("chapter", CHECKED)
def test_every_message_is_answered(chapter: str) -> None:
    answers = [said(i) for i, each in enumerate(ANSWERS) if each.chapter == chapter]
    assert [
        message
        for message in messages(chapter)
        if not any(re.search(message.strip(), each) for each in answers)
    ] == []
