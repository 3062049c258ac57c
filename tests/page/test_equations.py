"""A calculation that a text prints comes out: both sides of each equals sign."""

import math
import re
from collections.abc import Iterator

import pytest

from llmserve_lab.page.question.content import text_of
from tests.page.test_hints import MINE, plain_text

TOKEN = r"(?:exp\(|[−(]|\d[\d,]*(?:\.\d+)?|[·/+)])"
LEFT = re.compile(rf"((?:{TOKEN} ?)+) = (\d[\d,]*(?:\.\d+)?)")
SPELT = {"·": "*", "−": "-", ",": "", "exp": "math.exp"}
WORKED = {
    "flash-attention.keys-that-fit", "flash-attention.running-sum",
    "flash-attention.splits", "kv-memory.fits", "quantization.bits",
    "quantization.worst", "speculative.break-even", "speculative.by-hand",
    "speculative.common", "speculative.endless", "symptoms.running", "varlen.tiles",
}  # fmt: skip


def equations(text: str) -> Iterator[tuple[str, str]]:
    """What is calculated, and the result that is printed behind it."""
    for left, right in LEFT.findall(text):
        if re.search(r"\d\)? [·/+−] [\d(e]", left):
            yield left.strip(), right


def off(left: str, right: str) -> bool:
    """Whether a result is another than that of the calculation, as printed."""
    for sign, spelt in SPELT.items():
        left = left.replace(sign, spelt)
    value = eval(left, {"math": math, "__builtins__": {}})
    number = right.replace(",", "")
    last = 10.0 ** -len(number.partition(".")[2])
    return not abs(value - float(number)) <= max(0.51 * last, 5e-3 * abs(value))


def texts(name: str) -> Iterator[str]:
    """All that a question says."""
    question = MINE[name]
    for each in (question.prompt, question.why, *(h.text for h in question.hints)):
        yield plain_text(text_of(each)).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("name", sorted(WORKED))
def test_a_printed_calculation_comes_out(name: str) -> None:
    found = [pair for text in texts(name) for pair in equations(text)]
    assert found
    assert [each for each in found if off(*each)] == []


def test_every_printed_calculation_is_read() -> None:
    slow = {"kv-memory.predict-routing"}  # prints none
    own = {n for n in {*MINE} - slow if not n.startswith(("capacity.", "deepseek."))}
    assert {n for n in own if any([*equations(t)] for t in texts(n))} == WORKED


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Equation: 4 · (6.5 − 1.5) = 20.", False),
        ("Equation: 4 · (1.5 − 6.5) = 20.", True),
        ("twice: 207,872 / 768 = 270.7.", False),
        ("so 1.135 · exp(−2) + exp(−3) + 1 = 1.2.", False),
        ("so 1.135 · exp(−2) + exp(−3) + 2 = 1.2.", True),
    ],
)
def test_a_calculation_that_does_not_come_out_is_found(text: str, wrong: bool) -> None:
    (pair,) = equations(text)
    assert off(*pair) is wrong
