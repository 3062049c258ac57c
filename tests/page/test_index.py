"""The list of letters and formulas holds all of them, each in one chapter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import contents
from llmserve_lab.formula.quantity import Coefficient
from llmserve_lab.formula.registry import formulas
from llmserve_lab.notation import table
from llmserve_lab.page.index import (
    CHAPTERS,
    ChapterIndex,
    FilterBox,
    also,
    formulas_of,
    letters_of,
)


def test_every_formula_and_every_letter_stands_once() -> None:
    listed = [f.label for chapter in CHAPTERS for f in formulas_of(chapter)]
    assert sorted(listed) == sorted(f.label for f in formulas())
    letters = [q.name for chapter in CHAPTERS for q in letters_of(chapter)]
    known = {n for n, q in table().items() if not isinstance(q, Coefficient)}
    assert len(letters) == len(set(letters))
    assert set(letters) == known


def test_the_chapters_are_those_of_the_book_in_its_order(root: Path) -> None:
    numbered = [p for _, pages in contents.parts(root) for p, n in pages.items() if n]
    assert list(CHAPTERS) == numbered


def test_the_page_lists_every_chapter_under_its_title(root: Path) -> None:
    """A chapter that it leaves out has dead links "in the list of formulas"."""
    page = json.loads((root / "chapters" / "notation.ipynb").read_text("utf-8"))
    sources = ["".join(cell["source"]) for cell in page["cells"]]
    lists = [i for i, said in enumerate(sources) if said.startswith("ChapterIndex(")]
    assert [sources[i] for i in lists] == [f'ChapterIndex("{c}")' for c in CHAPTERS]
    for chapter, i in zip(CHAPTERS, lists, strict=True):
        title = contents.title(chapter, root)
        assert sources[i - 1] == (
            f"## {title}\n\nExplained in [{chapter}]({chapter}.ipynb)."
        )
        shown = "".join(page["cells"][i]["outputs"][0]["data"]["text/html"])
        for f in formulas_of(chapter):
            assert f'id="formula-{f.label}"' in shown


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_an_entry_leads_to_its_place_and_is_escaped(chapter: str) -> None:
    html = ChapterIndex(chapter)._repr_html_()
    for f in formulas_of(chapter):
        assert f'id="formula-{f.label}"' in html
        assert f'href="#eq-{f.label}"' in html
    entries = len(formulas_of(chapter)) + len(letters_of(chapter))
    assert html.count("<li ") == entries
    assert str(len(letters_of(chapter))) in repr(ChapterIndex(chapter))
    assert "<script" not in html + FilterBox("a", "things")._repr_html_()


def test_a_gap_is_found_by_its_other_names() -> None:
    assert {"TPOT", "ITL", "TBT"} <= set(
        also("mean gap while a prompt is read").split()
    )
    assert "MFU" in also("model FLOPs utilisation").split()
    assert "GQA" in also("key–value heads").split()
    assert also("a word of no term") == ""


def test_a_chapter_that_is_not_there_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"chapter must be one of end_to_end, .*'none'"
    ):
        ChapterIndex("none")
