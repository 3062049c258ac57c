"""The verdict follows from digits and numbers, and a wrong record cannot be made."""

import dataclasses
from functools import partial
from typing import Any

import pytest

from llmserve_lab.claims import (
    Claim,
    Number,
    Passages,
    Ruling,
    Size,
    Statement,
    judge,
    page,
)
from llmserve_lab.claims.parts import Part, Value


def number(printed: str, value: Value, **readings: float) -> Number:
    return Number(
        printed,
        "byte",
        lambda: value,
        readings={name: partial(float, reading) for name, reading in readings.items()},
    )


def size(says: Value, value: Value, **more: Any) -> Size:
    return Size("as large as", lambda: says, lambda: value, **more)


def claim(*parts: Part, **changes: Any) -> Claim:
    known: dict[str, Any] = {
        "id": "06-01",
        "section": "§2",
        "says": "so much",
        "parts": parts,
        "verdict": Ruling.WRONG if parts else Ruling.CANNOT_BE_CHECKED,
        "why": "because",
    }
    return Claim(**known | changes)


@pytest.mark.parametrize(
    ("part", "verdict"),
    [
        (number("14 GB", 14e9), Ruling.EXACT),
        (number("~14 GB", 14e9), Ruling.EXACT),
        (number("14 GB", 14.4e9), Ruling.WITHIN_ROUNDING),
        (number("14 GB", 14.6e9), Ruling.WRONG),
        (number("16 GB", 17.2e9, gib=16e9), Ruling.INCONSISTENT),
        (number("16 GB", 17.2e9, gib=15.6e9), Ruling.INCONSISTENT),
        (number("16 GB", 17.2e9, gib=15.4e9), Ruling.WRONG),
        (number("16 GB", 16.2e9, gib=19e9), Ruling.WITHIN_ROUNDING),
        (number("4–8", (4.0, 8.0)), Ruling.EXACT),
        (number("4–8", (3.6, 8.0)), Ruling.WITHIN_ROUNDING),
        (number("4–8", (5.0, 7.0)), Ruling.WRONG),
        (number("4–8", 5.0), Ruling.WITHIN_ROUNDING),
        (number("2–7", (3.73, 7.34)), Ruling.WRONG),
        (number("~150", (142.9, 200.0)), Ruling.WITHIN_ROUNDING),
        (number("~150", (155.1, 200.0)), Ruling.WRONG),
        (number("~100 k", 53e3), Ruling.WRONG),
        (number("~100 k", 53e3, twice=106e3), Ruling.INCONSISTENT),
        (number("~200", 189.3), Ruling.WITHIN_ROUNDING),
        (number("~200", 189.3, mixed=201.9), Ruling.INCONSISTENT),
        (number("~200", 195.0, mixed=200.0), Ruling.WITHIN_ROUNDING),
        (number("2", 1.5), Ruling.WRONG),
        (number("~225", 224.1), Ruling.WITHIN_ROUNDING),
        (number("225", 224.1), Ruling.WRONG),
        (number("16", 2.0, all_of_them=16.0), Ruling.WRONG),
        (number("16", 4.0, all_of_them=16.0), Ruling.INCONSISTENT),
        (number("> 98", 97.8), Ruling.WRONG),
        (number("4–8", (4.0, 16.0)), Ruling.WRONG),
        (number("> 10", 35.7), Ruling.EXACT),
        (number("> 10", 9.0), Ruling.WRONG),
        (Statement("fits", lambda: True, lambda: "80 GB"), Ruling.EXACT),
        (Statement("fits", lambda: False, lambda: "80 GB"), Ruling.WRONG),
        (
            Statement("tiny", lambda: True, lambda: "1 %", limit="2 %"),
            Ruling.WITHIN_ROUNDING,
        ),
        (
            Statement(
                "fits", lambda: False, lambda: "no", cases={"alone": lambda: True}
            ),
            Ruling.INCONSISTENT,
        ),
        (size(1.0, 1.0), Ruling.EXACT),
        (size(1.0, 1.04), Ruling.WITHIN_ROUNDING),
        (size(1.0, 1.04, exactly=True), Ruling.WRONG),
        (size(1.0, 1.06), Ruling.WRONG),
        (size(1.0, 1.06, readings={"other": lambda: 1.0}), Ruling.INCONSISTENT),
        (size(1.0, 6.0, readings={"other": lambda: 1.0}), Ruling.WRONG),
        (size(1.0, 1.5, where="section 9"), Ruling.INCONSISTENT),
        (size((1.0, 2.0), (1.0, 3.0)), Ruling.WRONG),
        (Passages("one", "one", "title"), Ruling.EXACT),
        (Passages("one", "two", "title"), Ruling.INCONSISTENT),
        (Passages("one", "two", "register", outside=True), Ruling.WRONG),
    ],
)
def test_verdict_of_a_part(part: Part, verdict: Ruling) -> None:
    assert part.judge() is verdict
    assert judge(claim(part)) is verdict


def test_a_claim_is_as_good_as_its_worst_part() -> None:
    exact, rounded, wrong = (number("14 GB", size * 1e9) for size in (14, 14.2, 15))
    assert judge(claim(exact, rounded)) is Ruling.WITHIN_ROUNDING
    assert judge(claim(exact, wrong, rounded)) is Ruling.WRONG


def test_without_parts_it_cannot_be_checked() -> None:
    assert judge(claim()) is Ruling.CANNOT_BE_CHECKED


def test_another_place_of_the_source_may_have_it_right() -> None:
    part = dataclasses.replace(number("10 GB", 11.4e9), elsewhere="11.4 GB")
    assert part.judge() is Ruling.INCONSISTENT
    assert part.explanations() == ("elsewhere it prints 11.4 GB",)
    assert dataclasses.replace(part, elsewhere="12 GB").judge() is Ruling.WRONG


@pytest.mark.parametrize(
    ("part", "ratio"),
    [
        (number("16 GB", 8e9), 2.0),
        (number("4–8", (4.0, 16.0)), 0.5),
        (number("4–8", 5.0), 1.0),
        (number("4–8", 16.0), 0.5),
        (number("~150", (142.9, 200.0)), 1.0),
        (number("~150", (160.0, 200.0)), 150 / 160),
        (number("> 98", 99.0), 1.0),
        (number("> 98", 49.0), 2.0),
        (size((1.0, 2.0), (1.0, 4.0)), 0.5),
    ],
)
def test_how_far_off(part: Number | Size, ratio: float) -> None:
    assert part.ratio == pytest.approx(ratio)
    assert claim(part).ratio == pytest.approx(ratio)


def test_the_reading_that_explains_is_named() -> None:
    part = number("16 GB", 17.2e9, gib=16e9, other=12e9)
    assert part.explanations() == ("gib",)


def test_right_values_are_shown_with_their_unit() -> None:
    assert number("16 GB", 17.18e9).right == "17.18 GB"
    assert number("2.5 GiB", 2.5 * 2**30).right == "2.5 GiB = 2.684 GB"
    assert Number("4–8×", "dimensionless", lambda: (4, 16), "GQA").right == "GQA 4–16×"
    assert Number("142.9 steps/s", "1/s", lambda: 1000 / 7).right == "142.86 per s"


def test_a_reason_may_hold_numbers() -> None:
    assert claim(number("1", 2), why=lambda: f"{6 * 7}").reason == "42"
    text = str(claim(number("14 GB", 15e9)))
    assert "printed:    14 GB" in text and "recomputed: 15 GB" in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "06-54"}, "id must be 06-01 to 06-53, got '06-54'"),
        ({"id": "06-00"}, "id must be 06-01 to 06-53"),
        ({"id": "99-01"}, "a known source and two digits, got '99-01'"),
        ({"id": "06-1"}, "two digits"),
        ({"id": "0601"}, "two digits"),
        ({"says": " "}, "says of 06-01 must not be empty"),
        ({"why": ""}, "why of 06-01 must give a reason for wrong"),
        (
            {"verdict": Ruling.CANNOT_BE_CHECKED},
            "06-01 must have parts to recompute",
        ),
        ({"parts": ()}, "06-01 must have parts to recompute"),
    ],
)
def test_a_record_is_checked_when_it_is_made(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(claim(number("1", 2)), **changes)


def test_an_exact_claim_needs_no_reason() -> None:
    assert claim(number("1", 1), verdict=Ruling.EXACT, why="").reason == ""


def test_a_number_is_printed_in_the_unit_of_its_value() -> None:
    with pytest.raises(ValueError, match="printed must be in byte, got '14 GFLOPs'"):
        number("14 GFLOPs", 14e9)


def test_the_rules_on_the_page_name_the_limits_that_the_verdicts_keep() -> None:
    """A little inside of the limit that is printed, and a little outside."""
    said = {str(row[0]): str(row[1]) for row in page.rules().rows}
    limit = float(said["words and leading terms"].removeprefix("right to ")[:-2]) / 100
    assert size(1.0, 1.0 + 0.99 * limit).judge() is Ruling.WITHIN_ROUNDING
    assert size(1.0, 1.0 + 1.01 * limit).judge() is Ruling.WRONG
    most = float(said["one digit alone"].split(" %")[0].removeprefix("at most ")) / 100
    assert number("4", 4.0 * (1 + 0.99 * most)).judge() is Ruling.WITHIN_ROUNDING
    assert number("4", 4.0 * (1 + 1.01 * most)).judge() is Ruling.WRONG
