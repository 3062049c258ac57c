"""Refusals name the argument, the rule and the value; what is sound is let through."""

import ast
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from llmserve_lab import checks
from tests.house.statements import in_text

PACKAGE = Path(checks.__file__).parent


@pytest.mark.parametrize("value", [1, np.int64(7), 2**70])
def test_whole_numbers_of_python_and_numpy_are_counts(value: Any) -> None:
    found = checks.whole_number("n", value)
    assert found == value and type(found) is int
    checks.whole(n=value)
    checks.whole_numbers("n", [value, 0, -1])


@pytest.mark.parametrize("value", [1.0, True, "1", None, math.nan, np.float64(2)])
def test_what_is_no_whole_number_is_no_count(value: Any) -> None:
    for error in (TypeError, ValueError):  # code that catches either is served
        with pytest.raises(error, match="n must be a whole number, got"):
            checks.whole(n=value)
    with pytest.raises(TypeError, match="n must be whole numbers, got"):
        checks.whole_numbers("n", [1, value])


def test_a_count_says_what_it_counts() -> None:
    with pytest.raises(ValueError, match="chunk must be at least 1 token, got 0"):
        checks.whole(of="token", chunk=0)
    with pytest.raises(ValueError, match="context must be at least 0, got -1"):
        checks.whole(first=0, context=-1)
    assert checks.whole_number("axis", -1, first=None) == -1


@pytest.mark.parametrize(
    ("value", "rule"),
    [(0, "positive, got 0"), (-2.5, "positive, got -2.5"), (math.inf, "finite, got")],
)
def test_what_is_not_positive_is_refused(value: float, rule: str) -> None:
    with pytest.raises(ValueError, match=f"rate must be {rule}"):
        checks.positive("rate", value)
    assert checks.positive("rate", np.float32(0.5)) == 0.5


@pytest.mark.parametrize("value", [-1, math.nan, math.inf])
def test_what_is_too_small_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="share must be finite and at least 0, got"):
        checks.at_least("share", value, 0)
    checks.at_least("share", 0, 0)


@pytest.mark.parametrize("value", ["x", None, [], np.ones(2)])
def test_what_is_no_number_is_refused(value: Any) -> None:
    for check in (
        lambda: checks.positive("rate", value),
        lambda: checks.at_least("rate", value, 0),
    ):
        with pytest.raises(TypeError, match="rate must be a number, got"):
            check()
    if value is None:
        with pytest.raises(TypeError, match="n must be whole numbers, got None"):
            checks.whole_numbers("n", value)  # type: ignore[arg-type]


def test_a_key_that_is_not_known_is_a_failed_look_up_and_a_wrong_value() -> None:
    error = checks.UnknownKeyError("key must be one of a, b, got 'c'")
    assert isinstance(error, KeyError) and isinstance(error, ValueError)
    assert str(error) == "key must be one of a, b, got 'c'"


def test_what_is_no_key_of_a_table_is_refused_with_those_there_are() -> None:
    table: dict[object, int] = {"up": 1, 2: 3}
    others: list[object] = ["left", None, [], "2"]
    for key in table:
        checks.key_of("way", key, table)
    for other in others:
        with pytest.raises(
            checks.UnknownKeyError, match="way must be one of up, 2, got"
        ):
            checks.key_of("way", other, table)


def test_an_unknown_option_and_another_type_are_refused() -> None:
    with pytest.raises(ValueError, match="way must be one of up, down, got 'left'"):
        checks.one_of("way", "left", Literal["up", "down"])
    with pytest.raises(TypeError, match="size must be of type int, got 'a'"):
        checks.of_type(int, size="a")


def refused_by_hand(text: str) -> Iterator[int]:
    """Lines in which code says itself what ``key_of`` and ``one_of`` are for."""
    for node in in_text(text):
        if not (isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)):
            continue
        looked_up = isinstance(node.test, ast.Compare) and any(
            isinstance(each, ast.NotIn) for each in node.test.ops
        )
        if looked_up and " must be one of " in ast.unparse(node.body[0]):
            yield node.lineno


@pytest.mark.parametrize("room", sorted(PACKAGE.iterdir()), ids=lambda path: path.name)
def test_a_key_is_looked_up_by_the_checks(room: Path) -> None:
    paths = room.rglob("*.py") if room.is_dir() else [room]
    found = {path.name: [*refused_by_hand(path.read_text("utf8"))] for path in paths}
    found.pop("checks.py", None)
    assert not any(found.values()), found


def test_a_look_up_by_hand_is_found() -> None:
    text = "if a not in B:\n    raise ValueError(f'a must be one of {B}, got {a}')\n"
    assert [*refused_by_hand(text)] == [1]
    assert [*refused_by_hand(text.replace("not in", "=="))] == []
