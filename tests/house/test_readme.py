"""The page that a stranger reads first says only what is so."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import contents
from llmserve_lab.formula.registry import formulas, modules
from readme_picture import PICTURE, picture


def test_the_picture_is_the_figure_of_today() -> None:
    assert PICTURE.read_text("utf8") == picture(), "make run draws it again"


def test_the_example_runs_as_printed(root: Path) -> None:
    failed, tried = doctest.testfile(str(root / "README.md"), module_relative=False)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_what_it_links_to_exists(root: Path, page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (root / page).read_text("utf8"))
    assert [link for link in links if not (root / link).exists()] == []


def test_the_table_has_the_chapters_in_the_order_of_the_book(root: Path) -> None:
    text = (root / "README.md").read_text("utf8")
    assert contents.table(text) in text, "make run writes it again"


def test_every_chapter_is_in_the_book(root: Path) -> None:
    chapters = {path.stem for path in (root / "chapters").glob("*.ipynb")}
    assert chapters == {page for _, pages in contents.parts() for page in pages}


def test_every_formula_stands_in_a_chapter(root: Path) -> None:
    text = "".join(p.read_text("utf8") for p in (root / "chapters").glob("*.ipynb"))
    names = {id(f): name for m in modules("formulas") for name, f in vars(m).items()}
    absent = [f for f in formulas() if f"formulas.{names[id(f)]}" not in text]
    assert absent == []
