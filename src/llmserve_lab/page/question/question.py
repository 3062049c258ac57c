"""Predict first: a guess that meets a reason stays; a number that is read is forgotten.

A question is asked in the page, where it needs no kernel, and the same question judges
an answer in a notebook through :func:`check`. The answer is computed from the book's
formulas when it is needed, and neither form ever prints it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any, Literal

from llmserve_lab.formula.text import unit_text, without_links

Text = str | Callable[[], str]
LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Hint:
    """What to tell a reader whose answer is ``value``, in the question's unit.

    In a question with choices ``value`` is the index of a wrong one.
    """

    value: Callable[[], float]
    text: Text


@dataclass(frozen=True, kw_only=True)
class Question:
    r"""A prompt, and an answer that a formula computes.

    ``answer`` returns a number in ``unit`` (a pint string such as ``byte/s``) or, where
    there are ``choices``, the index of the right one. A bare number in the page is read
    in ``asked_in`` (``GB/s``), which is ``unit`` unless something handier is given.
    ``why`` explains; it and the prompt may hold ``\( … \)`` and code in backticks.
    After a guess ``predict`` unfolds the explanation at once, ``check`` when right.
    """

    name: str
    prompt: Text
    answer: Callable[[], float]
    why: Text
    unit: str = "dimensionless"
    asked_in: str = ""
    rel_tol: float = 0.05
    hints: tuple[Hint, ...] = ()
    choices: tuple[str, ...] = ()
    kind: Literal["predict", "check"] = "check"

    def __post_init__(self) -> None:
        if not 0 <= self.rel_tol < 0.5:
            raise ValueError(f"rel_tol must be in [0, 0.5), got {self.rel_tol}")
        if len(self.choices) == 1 or len(self.choices) > len(LETTERS):
            raise ValueError(f"choices must be 2 to 8, got {len(self.choices)}")

    @property
    def shown_unit(self) -> str:
        """The unit in which a bare number is read."""
        return self.asked_in or self.unit

    @property
    def unit_label(self) -> str:
        """That unit as it is written beside the field, empty where there is none."""
        return unit_text(self.shown_unit, plural=True)

    @cached_property
    def right(self) -> float:
        """The answer in ``unit``."""
        value = float(self.answer())
        if self.choices and value not in range(len(self.choices)):
            raise ValueError(f"answer of {self.name} must index a choice, got {value}")
        return value

    def accepts(self, value: float) -> bool:
        """Whether ``value`` (in ``unit``) lies within the tolerance."""
        return abs(value - self.right) <= self.rel_tol * abs(self.right)

    def __repr__(self) -> str:
        lines = [without_links(text_of(self.prompt))]
        if self.choices:
            pairs = zip(LETTERS, self.choices, strict=False)
            lines += [f"  ({letter}) {choice}" for letter, choice in pairs]
        elif self.unit_label:
            lines.append(f"  Answer in {self.unit_label}.")
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_kwargs: Any) -> dict[str, str]:
        from llmserve_lab.page.question.html import question_html

        return {"text/plain": repr(self), "text/html": question_html(self)}


@dataclass(frozen=True)
class Judgement:
    """Whether an answer is right, and what to say about it."""

    right: bool
    text: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return self.text


def text_of(text: Text) -> str:
    """A text that may have to be computed from formulas first."""
    return text if isinstance(text, str) else text()


@cache
def questions() -> dict[str, Question]:
    """Every question of the package by name: those in ``llmserve_lab.*.questions``.

    Raises:
        ValueError: two questions share a name.
    """
    from llmserve_lab.formula.registry import modules

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
    from llmserve_lab.formula.registry import modules

    chapter = name.split(".")[0].replace("-", "_")
    found = modules("page.questions", chapter)
    near = [item for module in found for item in asked_in(module)]
    for question in near:
        if question.name == name:
            return question
    known = ", ".join(sorted(questions()))
    raise KeyError(f"name must be one of {known}, got {name!r}")


def check(name: str, value: Any, unit: str | None = None) -> Judgement:
    """Judge an answer to the question ``name`` without giving the answer away.

    ``value`` is a number with ``unit`` beside it (without one it is read in the unit
    that the question asks for), a pint quantity, a text such as ``"14 GB"``, or the
    letter or the words of a choice.

    Raises:
        KeyError: there is no question of that name; the message lists those there are.
    """
    from llmserve_lab.page.question.judge import judge

    return judge(named(name), value, unit)
