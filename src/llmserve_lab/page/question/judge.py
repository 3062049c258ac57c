"""A wrong number is rarely random: it is off by a two, an eight, a prefix, or inverted.

The list of wrong values with their hints is made here, once, for a question; the page
receives it with the question, and :func:`judge` reads it in a notebook.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from llmserve_lab.formula.text import NO_PREFIX, plain, said, si, without_links
from llmserve_lab.formula.units import convert
from llmserve_lab.page.question.answer import quantity
from llmserve_lab.page.question.content import LETTERS, QuestionContent, text_of

HINT_TOL = 0.03
RIGHT = "Right."
HIGH = "Not yet: your number is too high."
LOW = "Not yet: your number is too low."
OTHER = "Not this one."
OF_TWO = "It is the other one."
EMPTY = "Write your answer into the field first, such as 14 or 14 GB."
UNCHOSEN = "Choose one of the answers first."
UNREADABLE = "Write a number, such as 14, 14e9, 2.5 or 14 GB."
THOUSANDS = "A comma groups thousands here: write the decimal point as a point."
TWO_FLOP = (
    "You are off by a factor of 2: a multiplication and an addition are two FLOP."
)
TWO = "You are off by a factor of 2: is something counted twice, or only once?"
BITS = "You are off by a factor of 8: bits or bytes?"
PREFIX = "You are off by a power of 1000: look at the prefix of the unit."
QUOTIENT = "You are off by a power of 1000: look at the prefixes of what you divide."
BINARY = "You may have counted in GiB: here a GB is 10⁹ bytes."
INVERSE = "Your ratio is upside down."
SIGN = "The size is right, the sign is not."


@dataclass(frozen=True)
class Judgement:
    """Whether an answer is right, and what to say about it."""

    right: bool
    text: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return self.text


def hints(question: QuestionContent) -> list[tuple[float, str]]:
    """Wrong values in the question's unit with what to say, most specific first."""
    own = [
        (float(hint.value()), without_links(text_of(hint.text)))
        for hint in question.hints
    ]
    if question.choices:
        return [(index, text) for index, text in own if index != question.right]
    usual = ((question.right * ratio, text) for ratio, text in _usual(question))
    return [(v, t) for v, t in [*own, *usual] if v and not question.accepts(v)]


def _usual(question: QuestionContent) -> list[tuple[float, str]]:
    """Ratios of a wrong answer to the right one that have a usual reason."""
    data = "byte" in question.unit
    twice = TWO_FLOP if "FLOP" in question.unit else TWO
    found = [(2.0, twice), (0.5, twice)]
    found += [(8.0, BITS), (0.125, BITS)] if data else []
    if {"byte", "FLOP", "s"} & set(re.findall(r"\w+", question.unit)):
        text = QUOTIENT if question.unit in NO_PREFIX else PREFIX
        found += [(1000.0**k, text) for k in (-4, -3, -2, -1, 1, 2, 3, 4)]
    found += [(1.024**k, BINARY) for k in (-4, -3, 3, 4)] if data else []
    right, scale = question.right, scale_of(question.shown_unit, question.unit)
    found += [((scale / right) ** 2, INVERSE), (1 / right**2, INVERSE)] if right else []
    return [*found, (-1.0, SIGN)]


@cache
def scale_of(unit: str, base: str) -> float:
    """How many ``base`` one ``unit`` is.

    Raises:
        ValueError: they do not measure the same thing.
    """
    return float(convert(1.0, unit or "dimensionless", to=base, what="asked_in"))


def judge(question: QuestionContent, value: Any, unit: str | None = None) -> Judgement:
    """Judge ``value``; see :func:`llmserve_lab.page.question.question.check`."""
    if question.choices:
        return _judge_choice(question, value)
    if isinstance(value, str) and not value.strip():
        return Judgement(False, EMPTY)
    number = _in_unit(question, value, unit)
    if isinstance(number, Judgement):
        return number
    hint = _hint(question, number, str(value))
    right = question.accepts(number)
    if question.kind == "predict":
        return Judgement(right, answered(question, number, hint))
    return Judgement(right, RIGHT if right else hint or _side(question, number))


def _hint(question: QuestionContent, number: float, written: str) -> str:
    """The text that fits a wrong number, empty where none does."""
    if question.accepts(number):
        return ""
    for wrong, text in hints(question):
        if abs(number - wrong) <= HINT_TOL * abs(wrong):
            return THOUSANDS if text in (PREFIX, QUOTIENT) and "," in written else text
    return ""


def _side(question: QuestionContent, number: float) -> str:
    return HIGH if number > question.right else LOW


def answered(question: QuestionContent, number: float, hint: str = "") -> str:
    """What a prediction is answered with: both numbers, and how far they are apart."""
    said_, is_ = (said(v, question.unit) for v in (number, question.right))
    if question.accepts(number):
        return f"You said {said_}; it is {is_}. Well guessed."
    apart = compared(question.right, number)
    return f"You said {said_}; it is {is_}{apart}.{' ' if hint else ''}{hint}"


def compared(right: float, guess: float) -> str:
    """How much more or less the answer is than the guess, in words."""
    if guess * right <= 0:
        return ""
    side = "more" if abs(right) > abs(guess) else "less"
    ratio = max(right / guess, guess / right)
    if ratio < 1.5:
        return f", {plain(100 * abs(right / guess - 1), 2)} % {side}"
    return f", {si(ratio, '', 2)} times {side}"


def _judge_choice(question: QuestionContent, value: Any) -> Judgement:
    said = [*zip(LETTERS, range(len(question.choices)), strict=False)]
    said += [(choice, i) for i, choice in enumerate(question.choices)]
    taken = {words.casefold(): i for words, i in said}
    written = str(value).strip().casefold()
    if not written:
        return Judgement(False, UNCHOSEN)
    if written not in taken:
        known = ", ".join(LETTERS[: len(question.choices)])
        return Judgement(False, f"Answer with one of {known}, or with its words.")
    index = taken[written]
    hint = dict(hints(question)).get(float(index), "")
    right = index == question.right
    if question.kind == "predict":
        return Judgement(right, chosen(question, index, hint))
    two = OF_TWO if len(question.choices) == 2 else OTHER
    return Judgement(right, RIGHT if right else hint or two)


def chosen(question: QuestionContent, index: int, hint: str = "") -> str:
    """What a predicted choice is answered with."""
    names = spoken_choices(question)
    if index == question.right:
        return f"You said {names[index]}. That is it."
    answer = f"You said {names[index]}; it is {names[int(question.right)]}."
    return f"{answer} {hint}".rstrip()


def spoken_choices(question: QuestionContent) -> list[str]:
    """The choices as plain text; one with mathematics in it by its letter alone."""
    pairs = zip(LETTERS, question.choices, strict=False)
    bare = ((f"({a})", without_links(t).replace("`", "")) for a, t in pairs)
    return [a if "\\(" in text else f"{a} {text}" for a, text in bare]


def _in_unit(
    question: QuestionContent, value: Any, unit: str | None
) -> float | Judgement:
    """The answer as a number in the question's unit, or what is wrong with it."""
    import pint

    try:
        given = _quantity(value, unit, question.shown_unit)
    except pint.UndefinedUnitError as error:
        return Judgement(False, f"The book does not know this unit: {error}.")
    except (TypeError, ValueError, ArithmeticError, pint.PintError):
        return Judgement(False, UNREADABLE)
    try:
        number = float(given.to(question.unit or "dimensionless").magnitude)
    except pint.DimensionalityError:
        shown = f"{given.units:~}".replace(" ", "")
        return Judgement(False, wrong_dimension(question, shown))
    return number if math.isfinite(number) else Judgement(False, UNREADABLE)


def _quantity(value: Any, unit: str | None, default: str) -> Any:
    """A quantity of the book's registry from a number, a text or a quantity."""
    if isinstance(value, str):
        return quantity(value, unit or default)
    if hasattr(value, "magnitude"):
        bare = unit or (default if value.unitless else str(value.units))
        return float(value.magnitude) * quantity("1", bare)
    return float(value) * quantity("1", unit or default)


def wrong_dimension(question: QuestionContent, given: str) -> str:
    """The message for an answer of another kind, such as GB where GB/s is asked."""
    asked = question.shown_unit
    return f"Your answer is in {given or 'no unit'}, but the question asks for {asked}."
