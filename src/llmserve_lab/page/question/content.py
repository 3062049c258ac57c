"""What a question is: a prompt, choices or a unit, and an answer that is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

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
class QuestionContent:
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


def text_of(text: Text) -> str:
    """A text that may have to be computed from formulas first."""
    return text if isinstance(text, str) else text()
