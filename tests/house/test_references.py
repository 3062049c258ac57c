"""Everything with a number is referred to by name, and every name leads somewhere."""

import io
import json
import tokenize
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

import pytest

from llmserve_lab.formula.registry import formulas
from named_links import (
    displayed,
    filled,
    glued,
    lost_references,
    typed_references,
    wrong_numbers,
)

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = [*sorted((ROOT / "chapters").glob("*.ipynb")), ROOT / "intro.ipynb"]
ROOMS = ("src", "tests", "tools", "benchmarks")
PYTHON = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
PYTHON = [path for path in PYTHON if path != Path(__file__).resolve()]
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
SHOWN = {path.stem: displayed(path.read_text("utf8")) for path in CHAPTERS}
# Tests that plant what must be found, or read what is built.
PLANTED = ("tests/house/test_notebooks.py", "tests/page/test_build.py")


@cache
def words(path: Path) -> str:
    """Comments and texts of a Python file, without its code."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text("utf8")).readline)
    kinds = (tokenize.COMMENT, tokenize.STRING)
    return "\n".join(token.string for token in tokens if token.type in kinds)


def in_words(path: Path, faults: Callable[[str], Iterable[str]]) -> list[str]:
    """Faults in comments and texts; each is in one line, and so in the file, too.

    To take a file apart takes longest, and few have what looks like a fault.
    """
    return [*faults(words(path))] if [*faults(path.read_text("utf8"))] else []


def test_no_number_of_an_equation_is_typed_in_the_code() -> None:
    faults = {path: in_words(path, typed_references) for path in PYTHON}
    planted = {ROOT / name for name in PLANTED}
    assert {path for path, found in faults.items() if found} == planted


@pytest.mark.parametrize("page", PAGES)
def test_no_number_of_an_equation_is_typed_on_a_page(page: str) -> None:
    assert typed_references((ROOT / page).read_text("utf8")) == []


def test_every_reference_in_a_notebook_leads_to_what_is_shown() -> None:
    texts = {path.name: path.read_text("utf8") for path in CHAPTERS}
    lost = {name: list(lost_references(text, SHOWN)) for name, text in texts.items()}
    assert {name: found for name, found in lost.items() if found} == {}


def test_every_reference_in_the_code_leads_to_what_is_shown() -> None:
    lost = {
        path.name: in_words(path, partial(lost_references, shown=SHOWN))
        for path in PYTHON
        if path.is_relative_to(ROOT / "src")
    }
    assert {name: found for name, found in lost.items() if found} == {}


def test_every_formula_is_shown_under_its_label() -> None:
    shown = set().union(*SHOWN.values())
    assert {f"eq-{formula.label}" for formula in formulas()} <= shown


def test_what_is_stored_holds_no_number_of_an_equation() -> None:
    for path in CHAPTERS:
        for cell in json.loads(path.read_text("utf8"))["cells"]:
            for output in cell.get("outputs", ()):
                for mime in ("text/html", "text/latex"):
                    text = "".join(output.get("data", {}).get(mime, ""))
                    assert "\\tag{" not in text and 'eq-number">(' not in text


@pytest.mark.parametrize(
    "text",
    ["(1.7)", "Equation (2.5)", "chapter 5", "Chapters 2 and 3", "exercise 12",
     "figure 2.1", r"x \tag{1.2}"],
)  # fmt: skip
def test_a_typed_number_is_found(text: str) -> None:
    assert len(typed_references(f"see {text} here")) == 1


@pytest.mark.parametrize(
    "text",
    ["the paper's equation 21", "its Figure 4", "§2.5", "f(1.5)", "section 3.1",
     "[intensity](#eq-intensity)", "the scaling chapter", "version (2025)"],
)  # fmt: skip
def test_what_is_no_number_of_ours_is_let_through(text: str) -> None:
    assert typed_references(f"see {text} here") == []


def test_a_reference_to_nothing_or_to_the_wrong_page_is_found() -> None:
    shown = {"roofline": {"eq-ridge"}, "moe": {"fig-moe.loads"}}
    text = "[a](#eq-ridge) [b](roofline.ipynb#eq-ridge) [c](#fig-moe.loads)"
    assert list(lost_references(text, shown)) == []
    text = "[a](#eq-rigde) [b](moe.ipynb#eq-ridge) [c](#fig-moe.lost)"
    assert list(lost_references(text, shown)) == [
        "nothing in the book is named eq-rigde",
        "eq-ridge is shown in roofline, not in moe",
        "nothing in the book is named fig-moe.lost",
    ]


def test_a_number_in_the_prose_is_what_its_cell_printed() -> None:
    output = {
        "data": {"application/papermill.record/text/plain": "'295 FLOP/byte'"},
        "metadata": {"scrapbook": {"name": "ridge"}},
    }
    notebook = {"cells": [{"cell_type": "code", "outputs": [output]}]}
    numbers = glued(notebook)
    assert numbers == {"ridge": "295 FLOP/byte"}
    with pytest.raises(ValueError, match="ridge must be glued once"):
        glued({"cells": [{"cell_type": "code", "outputs": [output, output]}]})
    text = filled("It is [?](#num-ridge), not [7](#num-other).", numbers)
    assert text == "It is [295 FLOP/byte](#num-ridge), not [7](#num-other)."
    assert filled("It is {glue:text}`ridge`.", numbers) == (
        "It is [295 FLOP/byte](#num-ridge)."
    )
    assert list(wrong_numbers(text, numbers)) == ["nothing is glued as other"]
    assert list(wrong_numbers("[29 FLOP/byte](#num-ridge)", numbers)) == [
        "ridge must be '295 FLOP/byte' as its cell printed it, got '29 FLOP/byte'"
    ]
