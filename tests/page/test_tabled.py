"""Every table says what a second reader has noted down about it.

Two headings that change places, another unit in a column or a cell of the wrong row
differ from the note, whatever the stored outputs say.
"""

import json
from pathlib import Path

import pytest

from tests.page.tabled import NOTES, ROOT, Note, apart, same, tables

CHAPTERS = [path for path in sorted((ROOT / "chapters").glob("*.ipynb"))]
NOTED = sorted(path.stem for path in NOTES.glob("*.json"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_table_says_what_was_read_in_it(path: Path) -> None:
    found = tables(path)
    if not found:
        assert path.stem not in NOTED
        return
    assert path.stem in NOTED, (
        f"read them, then: python -m tests.page.tabled {path.stem}"
    )
    noted = json.loads((NOTES / f"{path.stem}.json").read_text("utf8"))
    assert len(found) == len(noted), "a table has come or gone"
    differ = [each for pair in zip(found, noted, strict=True) for each in apart(*pair)]
    assert differ == []


def test_no_note_is_of_a_chapter_that_is_gone() -> None:
    assert set(NOTED) <= {path.stem for path in CHAPTERS}


@pytest.mark.parametrize(
    ("now", "noted", "alike"),
    [
        ("14.2 GB", "14.9 GB", True),
        ("14.2 GB", "14.2 GiB", False),
        ("1,400", "1,900", False),
        ("−0.3", "−0.1", True),
        ("−3.0", "3.0", False),
        ("H100", "H200", False),
        ("8.6 (7.0–10.3)", "8.7 (7.1–10.4)", True),
    ],
)
def test_words_are_the_same_and_numbers_close(
    now: str, noted: str, alike: bool
) -> None:
    assert same(now, noted) is alike


def test_two_headings_that_change_places_are_found() -> None:
    one: Note = {"caption": "a", "rows": 1, "columns": [["in", "3 s"], ["out", "9 s"]]}
    other = {**one, "columns": [["out", "3 s"], ["in", "9 s"]]}
    assert list(apart(one, other))
    assert list(apart(one, one)) == []
