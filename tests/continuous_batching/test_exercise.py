"""The check of the reader's scheduler says what is wrong, and when all is well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab.continuous_batching.exercise import (
    Split,
    check,
    fair_share,
    in_order_of_arrival,
)

ROOT = Path(__file__).resolve().parents[2]
Prompts = list[Any]
Shares = list[tuple[Any, int]]


def shortest_first(prompts: Prompts, budget: int) -> Shares:
    return in_order_of_arrival(sorted(prompts, key=lambda p: p.pending), budget)


def newest_first(prompts: Prompts, budget: int) -> Shares:
    return in_order_of_arrival(prompts[::-1], budget)


def equal_parts(prompts: Prompts, budget: int) -> Shares:
    part = budget // len(prompts)
    return [(prompt, min(prompt.pending, part)) for prompt in prompts]


def nothing(prompts: Prompts, budget: int) -> Shares:
    return []


@pytest.mark.parametrize(
    ("split", "says"),
    [
        (in_order_of_arrival, "not yet: a short prompt waits"),
        (newest_first, "not yet: a short prompt waits"),
        (shortest_first, "not yet: the short prompts are quick, but the long"),
        (nothing, "not yet: 156 requests are never served"),
        (equal_parts, "well done"),
        (fair_share, "well done"),
    ],
)
def test_the_check_tells_good_from_bad(split: Split, says: str) -> None:
    assert check(split).startswith(says)


def test_a_split_that_breaks_a_rule_is_told_which() -> None:
    with pytest.raises(ValueError, match="rows must be 512 at most in all, got"):
        check(lambda prompts, _: [(p, p.pending) for p in prompts])
    with pytest.raises(ValueError, match="what is left of the prompt, got"):
        check(lambda prompts, _: [(prompts[0], prompts[0].pending + 1)])
    with pytest.raises(ValueError, match="each prompt once"):
        check(lambda prompts, _: [(prompts[0], 1), (prompts[0], 1)])
    with pytest.raises(ValueError, match="prompts it was given"):
        check(lambda prompts, _: [(object(), 1)])  # type: ignore[list-item]


def test_the_starter_on_the_page_is_not_there_yet() -> None:
    page = json.loads((ROOT / "chapters/continuous_batching.ipynb").read_text("utf8"))
    (cell,) = (c for c in page["cells"] if "lesson" in c["metadata"].get("tags", []))
    (output,) = cell["outputs"]
    assert "".join(output["text"]).startswith("not yet: ")
