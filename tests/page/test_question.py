"""A question judges a number with its unit, hints at slips, and tells nothing."""

import json
import math
import random
import re
from typing import Any

import pytest

from llmserve_lab.formula.units import units
from llmserve_lab.page.html import veiled
from llmserve_lab.page.question.html import question_data
from llmserve_lab.page.question.judge import (
    BINARY,
    BITS,
    HIGH,
    INVERSE,
    LOW,
    PREFIX,
    SIGN,
    TWO,
    judge,
)
from llmserve_lab.page.question.question import Question, check, named, questions
from tests.formula.example import BOUND, WEIGHTS
from tests.formula.javascript import evaluate

OWN = "One byte a parameter? BF16 has two."
GIVEN: list[tuple[str, str]] = [
    ("14", "right"), ("14 GB", "right"), ("14.4", "right"), ("14e9 B", "right"),
    ("14,000 MB", "right"), ("14 000 MB", "right"), ("1.4×10^10 bytes", "right"),
    ("13.04 GiB", "right"), ("112 Gbit", "right"), ("28/2", "right"), ("7", OWN),
    ("28 GB", TWO), ("112", BITS), ("14 MB", PREFIX), ("14000", PREFIX),
    ("15.03", BINARY), ("-14", SIGN), ("20", HIGH), ("10", LOW),
    (str(1 / 14), INVERSE), ("-", "unreadable"), ("about 14", "unreadable"),
    ("14 GB/s", "is in GB/s"), ("14 tokens", "is in token"), ("14 furlong", "not know"),
    ("14,00", "unreadable"), ("1,4", "unreadable"), ("14 GB)", "right"),
    ("", "unreadable"), ("GB", "unreadable"), ("(", "unreadable"),
    ("1/0", "unreadable"), ("'14'", "unreadable"), ("14;", "unreadable"),
    ("9**9**9", "unreadable"), ("14 GB//token", "is in"), ("1400 %", "is in"),
    ("14 G//", "not know"),
]  # fmt: skip


def fits(text: str, want: str) -> bool:
    if want == "right":
        return text.startswith("Right.")
    return "Write a number" in text if want == "unreadable" else want in text


@pytest.mark.parametrize(("given", "want"), GIVEN)
def test_page_and_notebook_understand_what_a_reader_writes(
    given: str, want: str
) -> None:
    asked = {"data": question_data(WEIGHTS), "given": given}
    page = evaluate("window.llmserveQuestion.judge(data, given)", **asked)
    notebook = judge(WEIGHTS, given)
    assert fits(page["text"], want) and fits(notebook.text, want), (page, notebook)
    assert page["right"] == notebook.right == (want == "right")


@pytest.mark.parametrize(
    ("value", "unit", "want"),
    [
        (14, None, "right"), (14, "GB", "right"), (14e9, "byte", "right"),
        ("14", "GB", "right"), (7.0, None, OWN), (28e3, "MB", TWO), (112, "GB", BITS),
        (15.03, None, BINARY), (20, "GB", HIGH), (14, "GB/s", "is in GB/s"),
        (14, "furlong", "not know"), (math.nan, None, "unreadable"),
        (None, None, "unreadable"), (["14"], None, "unreadable"),
        (10**400, None, "unreadable"), (14, "G//", "not know"),
    ],
)  # fmt: skip
def test_a_number_may_stand_beside_its_unit(
    value: Any, unit: str | None, want: str
) -> None:
    verdict = judge(WEIGHTS, value, unit)
    assert fits(verdict.text, want), verdict
    assert bool(verdict) == (want == "right")


def test_a_quantity_carries_its_own_unit() -> None:
    assert judge(WEIGHTS, units().Quantity(14.0, "GB"))
    assert judge(WEIGHTS, units().Quantity(14000.0, "MB"))
    assert not judge(WEIGHTS, units().Quantity(14.0, "MB"))


def test_page_and_notebook_agree_on_any_number() -> None:
    draw, data = random.Random(3), question_data(WEIGHTS)
    values = [14 * 10 ** draw.uniform(-4, 4) for _ in range(300)]
    values += [14 * k for k in (0.95, 1.05, 2.06, 1.94, 0.97 * 8, 1.03 * 8)]
    texts = [repr(v) for v in values]
    source = "texts.map(t => window.llmserveQuestion.judge(data, t).text)"
    found = evaluate(source, data=data, texts=texts)
    want = [judge(WEIGHTS, v).text for v in values]
    assert [f.replace(f"{data['said']}.", "").strip() for f in found] == want


def test_every_unit_of_the_book_is_read_on_the_page() -> None:
    for name in ("byte", "GB/s", "TFLOP/s", "FLOP/byte", "token/request", "µs", "ms",
                 "token", "1/s", "iteration/s", "byte/(token*layer)", "device",
                 "dimensionless", "dollar/token", "pair*request/token**2"):  # fmt: skip
        read = evaluate("window.llmserveQuestion.parseUnit(name)", name=name)
        base = units().Quantity(1.0, name).to_base_units()
        assert read["scale"] == pytest.approx(float(base.magnitude), rel=1e-12), name
        short = {"second": "s"}
        dims = {short.get(str(k), str(k)): v for k, v in base.unit_items()}
        assert {k: v for k, v in read["dims"].items() if v} == pytest.approx(dims), name


def test_choices_are_judged_by_letter_or_words() -> None:
    assert judge(BOUND, "a") and judge(BOUND, "memory") and judge(BOUND, " Memory ")
    assert "one of a, b" in judge(BOUND, ["a"]).text
    assert judge(BOUND, "b").text == "How many FLOP does it do for each byte?"
    assert "one of a, b" in judge(BOUND, "d").text
    data = question_data(BOUND)
    source = "[0, 1].map(i => window.llmserveQuestion.judgeChoice(data, i))"
    first, second = evaluate(source, data=data)
    assert first["right"] and not second["right"]
    assert second["text"] == judge(BOUND, "b").text


def test_text_plain_asks_and_does_not_answer() -> None:
    text = WEIGHTS._repr_mimebundle_()["text/plain"]
    assert text == repr(WEIGHTS) and "Answer in GB." in text and "14" not in text
    assert repr(BOUND).endswith("(a) memory\n  (b) compute")


def test_the_answer_is_nowhere_in_clear_but_in_the_folded_reason() -> None:
    html = WEIGHTS._repr_mimebundle_()["text/html"]
    open_part = re.sub(r"<details.*?</details>", "", html, flags=re.S)
    assert "14000000000" not in open_part and "14.0" not in open_part
    assert OWN not in html and html == WEIGHTS._repr_mimebundle_()["text/html"]
    assert "<summary>Answer and explanation</summary>" in html
    assert json.dumps(WEIGHTS.right) not in veiled(question_data(WEIGHTS), WEIGHTS.name)


def test_a_verdict_never_prints_the_answer() -> None:
    for value in (7, 14, 28, 20, 15.03, "x"):
        assert "14" not in repr(judge(WEIGHTS, value)).replace("14, 14e9 or 14 GB", "")


@pytest.mark.parametrize("name", ["no", "", "roofline.no", "no.fits"])
def test_check_lists_the_questions_that_there_are(name: str) -> None:
    with pytest.raises(KeyError, match=f"one of afd.*, roofline.fits, .*got '{name}'"):
        check(name, 1)


def test_check_finds_a_question_by_its_name() -> None:
    for name, question in questions().items():
        assert named(name) is question


def test_bad_questions_are_refused() -> None:
    parts: dict[str, Any] = {"name": "n", "prompt": "p", "why": "w"}
    with pytest.raises(ValueError, match="rel_tol must be in"):
        Question(**parts, answer=lambda: 1, rel_tol=0.5)
    with pytest.raises(ValueError, match="choices must be 2 to 8, got 1"):
        Question(**parts, answer=lambda: 0, choices=("a",))
    with pytest.raises(ValueError, match="answer of n must index a choice"):
        _ = Question(**parts, answer=lambda: 2, choices=("a", "b")).right
