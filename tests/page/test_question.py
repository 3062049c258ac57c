"""A question judges a number with its unit, hints at slips, and tells nothing."""

import math
import random
import re
from dataclasses import replace
from typing import Any, Literal

import pytest

from llmserve_lab.formula.units import units
from llmserve_lab.page.question.html import question_data
from llmserve_lab.page.question.judge import (
    BINARY,
    BITS,
    EMPTY,
    HIGH,
    INVERSE,
    LOW,
    PREFIX,
    SIGN,
    THOUSANDS,
    TWO,
    UNCHOSEN,
    UNREADABLE,
    judge,
)
from llmserve_lab.page.question.question import Question, check, named, questions
from tests.formula.example import BOUND, READ, WEIGHTS
from tests.formula.javascript import evaluate

OWN = "One byte a parameter? BF16 has two."
KINDS: tuple[Literal["predict", "check"], ...] = ("predict", "check")
GIVEN: list[tuple[str, str]] = [
    ("14", "right"), ("14 GB", "right"), ("14.4", "right"), ("14e9 B", "right"),
    ("14,000 MB", "right"), ("14 000 MB", "right"), ("1.4×10^10 bytes", "right"),
    ("13.04 GiB", "right"), ("112 Gbit", "right"), ("28/2", "right"), ("7", OWN),
    ("28 GB", TWO), ("112", BITS), ("14 MB", PREFIX), ("14000", PREFIX),
    ("15.03", BINARY), ("-14", SIGN), ("20", HIGH), ("10", LOW),
    (str(1 / 14), INVERSE), ("-", "unreadable"), ("about 14", "unreadable"),
    ("14 GB/s", "is in GB/s"), ("14 tokens", "is in token"), ("14 furlong", "not know"),
    ("14,00", "right"), ("1,4", LOW), ("0,014 TB", "right"), ("14 GB)", "right"),
    ("14,000", THOUSANDS), ("14,000,000 kB", "right"), ("1.234,5", "unreadable"),
    ("28e9/2 B", "right"), ("28 GB / 2", "right"), ("7e9*2/1e9", "right"),
    ("2 × 7 GB", "right"), ("14 TB / 1000", "right"), ("14e9 B / 1e9 B", "is in"),
    ("14 TB/s / 1e3/s", "right"), ("2^1 * 7", "right"), ("0x", "is in"),
    ("", EMPTY), ("  ", EMPTY), ("GB", "unreadable"), ("(", "unreadable"),
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
    assert "one of a, b" in judge(BOUND, "d").text
    assert judge(BOUND, "").text == UNCHOSEN
    for kind in KINDS:
        asked = replace(BOUND, kind=kind)
        source = "[0, 1].map(i => window.llmserveQuestion.judgeChoice(data, i))"
        found = evaluate(source, data=question_data(asked))
        assert [v["text"] for v in found] == [judge(asked, x).text for x in "ab"]
        assert [v["right"] for v in found] == [True, False]


def test_a_predicted_choice_is_answered_and_not_scolded() -> None:
    want = "You said (b) compute; it is (a) memory. How many FLOP does it do"
    assert judge(BOUND, "b").text.startswith(want)
    assert judge(BOUND, "a").text == "You said (a) memory. That is it."


def test_the_second_of_two_wrong_choices_needs_no_second_thought() -> None:
    plain = replace(BOUND, kind="check", hints=())
    assert judge(plain, "b").text == "It is the other one."
    third = replace(plain, choices=("memory", "compute", "neither"))
    assert judge(third, "c").text == "Not this one."


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ("4.18", "You said 4.18 ms; it is 4.18 ms. Well guessed."),
        ("0.4", "You said 400 µs; it is 4.18 ms, 10 times more."),
        ("400 ms", "You said 400 ms; it is 4.18 ms, 96 times less."),
        ("3.8", "You said 3.8 ms; it is 4.18 ms, 10 % more."),
        ("5", "You said 5 ms; it is 4.18 ms, 16 % less."),
        ("0", "You said 0 s; it is 4.18 ms."),
        ("6.86", "You said 6.86 ms; it is 4.18 ms, 1.6 times less. That is the older"),
        ("14 GB / 3.35 TB/s", "Well guessed."),
    ],
)
def test_a_prediction_is_answered_with_both_numbers(given: str, want: str) -> None:
    page = evaluate(
        "window.llmserveQuestion.judge(data, given)",
        data=question_data(READ),
        given=given,
    )
    assert want in judge(READ, given).text
    assert page["text"] == judge(READ, given).text


def test_page_and_notebook_answer_any_prediction_alike() -> None:
    draw = random.Random(5)
    values = [READ.right * 10 ** draw.uniform(-6, 6) for _ in range(300)]
    texts = [f"{value!r} s" for value in values]
    source = "texts.map(t => window.llmserveQuestion.judge(data, t).text)"
    found = evaluate(source, data=question_data(READ), texts=texts)
    assert found == [judge(READ, text).text for text in texts]
    scolds = ("Not yet", "Think again", "wrong")
    assert not any(scold in text for text in found for scold in scolds)


def test_one_token_for_a_thousand_is_no_slip_of_a_prefix() -> None:
    parts: dict[str, Any] = {"name": "n", "prompt": "p", "why": "w", "unit": "token"}
    tokens = Question(**parts, answer=lambda: 1024)
    assert judge(tokens, "1").text == LOW and judge(tokens, "1e6").text == HIGH


def test_text_plain_asks_and_does_not_answer() -> None:
    text = WEIGHTS._repr_mimebundle_()["text/plain"]
    assert text == repr(WEIGHTS) and "Answer in GB." in text and "14" not in text
    assert repr(BOUND).endswith("(a) memory\n  (b) compute")


def test_the_answer_is_nowhere_to_be_read_but_in_the_folded_reason() -> None:
    html = WEIGHTS._repr_mimebundle_()["text/html"]
    hidden = r"<details.*?</details>|<script.*?</script>"
    seen = re.sub(hidden, "", html, flags=re.S)
    assert "14000000000" not in seen and "14.0" not in seen and OWN not in seen
    assert html == WEIGHTS._repr_mimebundle_()["text/html"]
    assert "<summary>Answer and explanation</summary>" in html


def test_without_a_script_there_are_the_options_and_room_to_answer() -> None:
    html = BOUND._repr_mimebundle_()["text/html"]
    assert re.search(r"<label [^>]*>\(a\) memory</label>", html)
    assert all(" hidden" in found for found in re.findall(r"<input[^>]*>", html))
    assert "Your answer:" in WEIGHTS._repr_mimebundle_()["text/html"]


def test_a_verdict_never_prints_the_answer() -> None:
    for value in (7, 14, 28, 20, 15.03, "x"):
        assert "14" not in repr(judge(WEIGHTS, value)).replace(UNREADABLE, "")


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
