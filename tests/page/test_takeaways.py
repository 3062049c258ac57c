"""No sentence that a reader keeps can be turned round unread.

Of each list "Remember" the words that have an opposite, each with the word after it,
and the names of the numbers are read once more, in their order. Each chapter's own
``test_remember.py`` says whether the sentences are true.
"""

import json
import re
from pathlib import Path

import pytest

from tests.page.comparisons import read
from tests.page.takeaways import KEPT

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"


def sentences(chapter: str) -> list[str]:
    """What stands below "Remember", one entry for each number of the list."""
    cells = json.loads((CHAPTERS / f"{chapter}.ipynb").read_text("utf8"))["cells"]
    prose = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    pattern = r"^## Remember\n(.*?)(?=^## |\Z)"
    (found,) = re.findall(pattern, "\n".join(prose), re.S | re.M)
    return re.findall(r"^\d\. (.*)$", found, re.M)


@pytest.mark.parametrize("chapter", KEPT)
def test_what_a_reader_keeps_is_compared_as_it_was_read(chapter: str) -> None:
    assert [read(each) for each in sentences(chapter)] == KEPT[chapter]


def test_every_list_of_sentences_was_read() -> None:
    lists = {p.stem for p in CHAPTERS.glob("*.ipynb") if "## Remember" in p.read_text()}
    assert lists == set(KEPT)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Above [12](#num-turn) tokens", "Below [12](#num-turn) tokens"),
        ("from [5](#num-a) to [9](#num-b)", "from [9](#num-b) to [5](#num-a)"),
        ("no port takes longer", "a port takes longer"),
    ],
)
def test_a_turned_sentence_is_found(right: str, wrong: str) -> None:
    assert read(right) != read(wrong)
