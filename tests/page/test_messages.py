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


def templates(chapter: str) -> Iterator[str]:
    """Messages with values in a checker's module, as patterns of what they say."""
    for node in ast.walk(ast.parse(inspect.getsource(CHECKED[chapter]))):
        if not isinstance(node, ast.JoinedStr):
            continue
        parts = [
            re.escape(str(part.value)).replace(r"\n", " ").replace("\\\n", " ")
            if isinstance(part, ast.Constant)
            else ".*"
            for part in node.values
        ]
        if any(part == ".*" for part in parts):
            yield " ".join("".join(parts).replace("\\ ", " ").split())


@pytest.mark.parametrize("chapter", CHECKED)
def test_every_message_with_a_value_is_answered(chapter: str) -> None:
    answers = [said(i) for i, each in enumerate(ANSWERS) if each.chapter == chapter]
    assert [
        pattern
        for pattern in templates(chapter)
        if not any(re.search(pattern, each) for each in answers)
    ] == []
