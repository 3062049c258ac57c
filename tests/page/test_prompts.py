"""An answer follows from the numbers that its prompt states, and from no others.

Two data that change places, a unit or a datum of another case leave the answer as it
is: it is computed elsewhere. A reader who computes with what stands there is wrong.
"""

import re
from collections.abc import Iterator

import pytest

from llmserve_lab.page.question.content import text_of
from tests.page.prompts import OTHERS, PROMPTS
from tests.page.test_hints import MINE, NUMERIC, plain_text

NUMBER = re.compile(
    r"(?<![\w.,-])(?<!Llama-)(\d[\d,]*(?:\.\d+)?)"
    r"(?:\s?(%|billion)|\s([nµmkMGT])?(?:s|B|FLOPs?|bytes?)(?:/\w+)?(?![\w-]))?"
)
PREFIXES = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SCALES = {"%": 0.01, "billion": 1e9, "": 1.0}
SHARE = "between 0 and 1"  # how an answer is to be written
LEAST = 0.004  # to which a datum may be rounded


def data(prompt: str) -> Iterator[float]:
    """The numbers of a prompt in their order, in units without a prefix."""
    for number, scale, prefix in NUMBER.findall(prompt.replace(SHARE, "")):
        yield float(number.replace(",", "")) * SCALES[scale] * PREFIXES.get(prefix, 1.0)


@pytest.mark.parametrize("name", PROMPTS)
def test_an_answer_follows_from_the_numbers_of_its_prompt(name: str) -> None:
    question = MINE[name]
    found = PROMPTS[name](*data(plain_text(text_of(question.prompt))))
    assert found == pytest.approx(question.right, rel=max(question.rel_tol, LEAST))


def test_every_prompt_with_numbers_was_read() -> None:
    assert {*PROMPTS, *OTHERS} == set(NUMERIC)
    assert not PROMPTS.keys() & OTHERS


def test_numbers_are_read_with_their_units() -> None:
    says = "Llama-3.1-70B on H100: 1,000 tokens, 4.5 µs + 3 Q / (276 GB/s), 27.3 GB, 8%"
    assert list(data(says)) == pytest.approx([1000, 4.5e-6, 3, 276e9, 27.3e9, 0.08])


@pytest.mark.parametrize("name", [each for each in NUMERIC if MINE[each].asked_in])
def test_an_answer_is_taken_in_the_unit_that_is_asked_for(name: str) -> None:
    """128 KiB for 131 kB would pass for rounding."""
    question = MINE[name]
    prompt = plain_text(text_of(question.prompt)).replace("kilobytes", "kB")
    amount, *_ = question.asked_in.split("/")
    (asked,) = re.findall(r"How many (\w+)", prompt) or [""]
    assert asked.removesuffix("s") in (amount, "", "byte", "FLOP")
    assert "i" not in amount or amount in prompt
