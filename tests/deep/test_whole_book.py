"""The whole book with a chapter more: all that has a name is found, and renumbered."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import contents

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("_config.yml", "_toc.yml", "intro.ipynb", "references.bib")
FOLDERS = ("chapters", "assets", "templates")
PLACE = re.compile(r"^( *- file: chapters/)continuous_batching$", re.MULTILINE)
NEW = ["# A chapter more\n\nIt refers to [iteration_s](#eq-iteration_s) and ",
       "[continuous_batching](continuous_batching.ipynb)."]  # fmt: skip
REFERENCE = re.compile(r'href="([\w./-]*)#((?:eq|fig)-[\w.-]+)"')


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the book, with a page of its own between two chapters."""
    folder = tmp_path_factory.mktemp("book")
    for name in SOURCES:
        shutil.copy(ROOT / name, folder)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name)
    (folder / "assets" / "vendor").mkdir(exist_ok=True)
    (folder / "assets" / "vendor" / "vega.js").touch()
    cell = {"cell_type": "markdown", "id": "new", "metadata": {}, "source": NEW}
    page = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "chapters" / "inserted.ipynb").write_text(json.dumps(page), "utf8")
    toc = (folder / "_toc.yml").read_text("utf8")
    longer, count = PLACE.subn(r"\1inserted\n\g<0>", toc)
    assert count == 1
    (folder / "_toc.yml").write_text(longer, "utf8")
    return folder


@pytest.fixture(scope="module")
def pages(book: Path) -> dict[str, str]:
    """The built chapters by name; a warning is an error."""
    program = str(Path(sys.executable).parent / "jupyter-book")
    options = ["--all", "-W", "-n", "--keep-going", "--quiet"]
    done = subprocess.run(
        [program, "build", ".", *options],
        cwd=book,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = (book / "_build" / "html" / "chapters").glob("*.html")
    return {path.stem: path.read_text("utf8") for path in found}


def test_chapters_equations_and_figures_are_renumbered(
    book: Path, pages: dict[str, str]
) -> None:
    chapters = {
        page: n for _, part in contents.parts(book) for page, n in part.items() if n
    }
    assert chapters["inserted"] + 1 == chapters["continuous_batching"]
    for page, number in chapters.items():
        assert f'<span class="section-number">{number}. </span>' in pages[page]
        own = re.findall(r'<a class="eq-number"[^>]*>\((\d+)\.(\d+)\)</a>', pages[page])
        mine = [int(place) for chapter, place in own if int(chapter) == number]
        assert mine == list(range(1, len(mine) + 1))
        first = rf'class="caption-number">Exercise {number}\.1 '
        assert 'class="caption-number">Exercise' not in pages[page] or re.search(
            first, pages[page]
        )


def test_every_reference_leads_to_what_it_names(pages: dict[str, str]) -> None:
    followed = 0
    for name, page in pages.items():
        for address, target in REFERENCE.findall(page):
            stem = Path(address).stem or name
            assert f' id="{target}"' in pages[stem], (name, address, target)
            followed += 1
    assert followed > 500


def test_the_new_page_is_told_the_numbers(pages: dict[str, str]) -> None:
    text = re.sub(r"<[^>]*>", "", pages["inserted"])
    number = re.search(r"It refers to \((\d+)\.\d+\) and chapter (\d+)\.", text)
    assert number is not None
    heading = f'<span class="section-number">{number[2]}. </span>'
    assert heading in pages["continuous_batching"]


def test_no_anchor_is_there_twice_on_a_page(pages: dict[str, str]) -> None:
    for page in pages.values():
        anchors = re.findall(r' id="((?:eq|fig)-[\w.-]+)"', page)
        assert len(anchors) == len(set(anchors))
