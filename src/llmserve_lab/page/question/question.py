"""Predict first: a guess that meets a reason stays; a number that is read is forgotten.

A question is asked in the page, where it needs no kernel, and the same question judges
an answer in a notebook through :func:`check`. The answer is computed from the book's
formulas when it is needed, and neither form ever prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from llmserve_lab.checks import UnknownKeyError
from llmserve_lab.formula.registry import modules
from llmserve_lab.page.question.content import Hint as Hint
from llmserve_lab.page.question.content import QuestionContent
from llmserve_lab.page.question.html import question_html
from llmserve_lab.page.question.judge import Judgement, judge


@dataclass(frozen=True, kw_only=True, repr=False)
class Question(QuestionContent):
    """A question that shows itself: as text, and as a form on the page."""

    def _repr_mimebundle_(self, **_kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": question_html(self)}


@cache
def questions() -> dict[str, Question]:
    """Every question of the package by name: those in ``llmserve_lab.*.questions``.

    Raises:
        ValueError: two questions share a name.
    """
    found: dict[str, Question] = {}
    for module in modules("page.questions"):
        for item in asked_in(module):
            if found.setdefault(item.name, item) is not item:
                raise ValueError(f"question names must differ, got {item.name} twice")
    return found


def asked_in(module: ModuleType) -> list[Question]:
    """The questions that a module defines."""
    return [item for item in vars(module).values() if isinstance(item, Question)]


def named(name: str) -> Question:
    """The question ``name``, of the chapter before its dot: no other is loaded.

    Raises:
        KeyError: there is no question of that name; the message lists those there are.
    """
    chapter = name.split(".")[0].replace("-", "_")
    found = modules("page.questions", chapter)
    near = [item for module in found for item in asked_in(module)]
    for question in near:
        if question.name == name:
            return question
    known = ", ".join(sorted(questions()))
    raise UnknownKeyError(f"name must be one of {known}, got {name!r}")


def check(name: str, value: Any, unit: str | None = None) -> Judgement:
    """Judge an answer to the question ``name`` without giving the answer away.

    ``value`` is a number with ``unit`` beside it (without one it is read in the unit
    that the question asks for), a pint quantity, a text such as ``"14 GB"``, or the
    letter or the words of a choice.

    Raises:
        KeyError: there is no question of that name; the message lists those there are.
    """
    return judge(named(name), value, unit)
