"""Numbers of a prompt on which no answer depends: they describe the case all the same.

What an answer is worth in the numbers of its prompt is computed elsewhere. A question
with options, a datum that a formula passes over and two factors of a product are left:
each of their numbers is worked out from shapes and runs, or is what a hint needs.
"""

import re
from collections.abc import Iterator

import pytest

from llmserve_lab.page.question.content import text_of
from tests.page.amounts import amounts, untrue
from tests.page.given import GIVEN
from tests.page.prompts import PROMPTS
from tests.page.solved import FOUND
from tests.page.test_hints import CHOICES, MINE, NUMERIC, plain_text
from tests.page.test_prompts import LEAST, SHARE, data

# Of these the order means nothing, or a number shows how to write an answer.
ALIKE = {"continuous-batching.idle", "speculative.by-hand", "varlen.waste"}
RANGE = re.compile(r"between (\d+) and (\d+)\)")
EXAMPLE = re.compile(r"Write ([\d.]+) or (\d+)%, say")


def said(name: str) -> str:
    return plain_text(text_of(MINE[name].prompt)).replace(SHARE, "")


def others(numbers: list[float]) -> Iterator[list[float]]:
    """The numbers with one of them larger, or with two neighbours exchanged."""
    for at, number in enumerate(numbers):
        yield [*numbers[:at], 1.37 * number, *numbers[at + 1 :]]
    for at in range(1, len(numbers)):
        one, other = numbers[at - 1 : at + 1]
        if one != other:
            yield [*numbers[: at - 1], other, one, *numbers[at + 1 :]]


def passed_over(name: str) -> bool:
    """Whether another number in a prompt would leave its answer as it is."""
    question = MINE[name]
    near = max(question.rel_tol, LEAST)
    for numbers in others([*data(said(name))]):
        try:
            found = PROMPTS[name](*numbers)
        except (ArithmeticError, ValueError):
            continue
        if found == pytest.approx(question.right, rel=near):
            return True
    return False


@pytest.mark.parametrize("name", GIVEN)
def test_each_number_of_a_prompt_is_of_its_case(name: str) -> None:
    assert untrue(said(name), GIVEN[name]()) == []


@pytest.mark.parametrize("name", FOUND)
def test_hints_are_told_to_what_follows_from_the_prompt(name: str) -> None:
    question = MINE[name]
    told = [question.right, *(float(hint.value()) for hint in question.hints)]
    found = FOUND[name](*data(said(name)))
    assert found == pytest.approx(told[: len(found)], rel=2e-3)


def test_an_example_of_how_to_write_says_one_number_twice() -> None:
    found = [(n, *each) for n in MINE for each in EXAMPLE.findall(said(n))]
    assert len(found) >= 2
    for name, share, cent in found:
        assert float(share) == pytest.approx(float(cent) / 100)
        assert not MINE[name].accepts(float(share))
    for name in MINE:
        words = plain_text(text_of(MINE[name].prompt))
        assert {*RANGE.findall(words)} <= {("0", "1")}


def test_what_no_answer_depends_on_is_read_here() -> None:
    left = {n for n in PROMPTS if passed_over(n)}
    left |= {n for n in {*CHOICES, *NUMERIC} - {*PROMPTS} if [*amounts(said(n))]}
    left = {name for name in left if not name.startswith(("capacity.", "deepseek."))}
    assert left - ALIKE - {*GIVEN, *FOUND} == set()


def test_a_number_is_compared_in_its_unit_to_its_last_digit() -> None:
    says = "Llama-3.1-70B: 1,200 tokens in 9.8 ms, 92% of 80 GB"
    assert untrue(says, [1_200, 0.00984, 0.9249, 80.4e9]) == []
    assert untrue(says, [1_210, 0.00986, 0.926, 81e9]) == [
        ("1200", 1_210), ("9.8", 0.00986), ("92", 0.926), ("80", 81e9)
    ]  # fmt: skip
    with pytest.raises(AssertionError):
        untrue(says, [1_200])
