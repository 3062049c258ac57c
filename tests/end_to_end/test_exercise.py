"""The check of the reader's top-p says what is wrong, and when all is well."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab.end_to_end.exercise import KeptIds, check, largest_until

NOTEBOOK = Path(__file__).resolve().parents[2] / "chapters" / "end_to_end.ipynb"


def everything(probabilities: Any, top_p: float) -> list[int]:
    return list(range(len(probabilities)))


def first_only(probabilities: Any, top_p: float) -> list[int]:
    return [max(range(len(probabilities)), key=lambda i: probabilities[i])]


def one_too_many(probabilities: Any, top_p: float) -> list[int]:
    rest = everything(probabilities, top_p)
    kept = largest_until(probabilities, top_p)
    return [*kept, *[i for i in rest if i not in kept][:1]]


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (everything, "not yet: .* 4 words do, you keep 5"),
        (first_only, "not yet: .* only 0.48 together"),
        (one_too_many, "not yet: .* words? do, you keep"),
        (lambda p, _: [0, 0], "not yet: .* a word twice"),
        (lambda p, _: [7], "not yet: .* ids that do not exist"),
        (largest_until, "well done"),
    ],
)
def test_the_check_tells_good_from_bad(ids: KeptIds, says: str) -> None:
    assert re.match(says, check(ids))


def test_the_stored_starter_is_not_yet_right() -> None:
    cells = json.loads(NOTEBOOK.read_text("utf8"))["cells"]
    said = [
        "".join(out.get("text", ""))
        for cell in cells
        if "def top_p_ids" in "".join(cell["source"])
        for out in cell["outputs"]
    ]
    assert len(said) == 1 and said[0].startswith("not yet:")
