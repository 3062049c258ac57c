"""Minutes are the chapters' own, and the table of the front page has them all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import contents
from llmserve_lab.front.reading_time import hours, minutes, of_the_book


def notebook(folder: Path, name: str, words: int, stated: int | None = None) -> Path:
    text = " ".join(["word"] * words)
    said = f" **[{stated} minutes](#num-minutes).**" if stated else ""
    fold = "<details><summary>More</summary>" + "word " * 500 + "</details>"
    cell = {"cell_type": "markdown", "source": [text, said, fold]}
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps({"cells": [cell]}), "utf8")
    return path


def test_a_chapter_that_states_nothing_takes_as_long_for_its_words(
    tmp_path: Path,
) -> None:
    known = notebook(tmp_path, "known", 3996, 40)  # and the words of the statement
    other = notebook(tmp_path, "other", 2000)
    short = notebook(tmp_path, "short", 10)
    assert minutes([known, other, short]) == {"known": 40, "other": 20, "short": 5}
    with pytest.raises(ValueError, match="a chapter that states its minutes"):
        minutes([other])


def test_hours_are_whole_or_half() -> None:
    assert [hours(m) for m in (30, 31, 270, 271)] == [
        "0½ hours", "1 hours", "4½ hours", "5 hours",
    ]  # fmt: skip


def test_the_front_page_has_every_numbered_chapter_in_order(root: Path) -> None:
    stored = (root / "intro.ipynb").read_text("utf8")
    readme = (root / "README.md").read_text("utf8")
    assert contents.with_front_table(stored, readme, root) == stored, "make run"
    numbered = [p for _, pages in contents.parts(root) for p, n in pages.items() if n]
    assert list(of_the_book(str(root))) == numbered
