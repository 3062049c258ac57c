"""The check of the reader's function says what is wrong, and when all is well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.exercise import (
    CONTEXTS,
    LIMITS_S,
    check,
    hbm_bytes,
    held_bytes,
    largest_batch,
    seconds,
)
from llmserve_lab.running_example import ideal

NOTEBOOK = Path(__file__).resolve().parents[2] / "chapters/roofline.ipynb"


def by_bisection(context: int, limit_s: float) -> int:
    """The same by halving, where time and memory grow with the batch."""
    low, high = 0, 4096
    while low < high:
        middle = (low + high + 1) // 2
        fits = held_bytes(middle, context) <= hbm_bytes()
        low, high = (
            (middle, high)
            if fits and seconds(middle, context) <= limit_s
            else (low, middle - 1)
        )
    return low


def starter() -> Any:
    """The function as the notebook stores it."""
    cells = json.loads(NOTEBOOK.read_text("utf8"))["cells"]
    (cell,) = (c for c in cells if "lesson" in c["metadata"].get("tags", []))
    found: dict[str, Any] = {}
    exec("".join(cell["source"]), found)
    return found["choose"]


def test_the_solution_passes_and_so_does_another() -> None:
    for choose in (largest_batch, by_bisection):
        assert check(choose).startswith("well done")


def test_the_starter_does_not() -> None:
    assert check(starter()).startswith("not yet")


@pytest.mark.parametrize(
    ("choose", "says"),
    [
        (lambda context, limit_s: 0, "would still fit"),
        (lambda context, limit_s: 10_000, "too many"),
        (
            lambda context, limit_s: int(f.BATCH_FITS.at(ideal(), context=context)),
            "too many",
        ),
    ],
)
def test_a_wrong_choice_is_told_why(choose: Any, says: str) -> None:
    said = check(choose)
    assert said.startswith("not yet") and says in said


def test_both_limits_decide_somewhere_and_none_is_enough() -> None:
    by_time = by_memory = nothing = 0
    for context in CONTEXTS:
        for limit_s in LIMITS_S:
            batch = largest_batch(context, limit_s)
            nothing += batch == 0
            fits = held_bytes(batch + 1, context) <= hbm_bytes()
            by_time += batch > 0 and fits
            by_memory += not fits
    assert by_time and by_memory and nothing


def test_a_limit_must_be_positive() -> None:
    with pytest.raises(ValueError, match="limit_s must be positive, got 0"):
        largest_batch(100, 0)
