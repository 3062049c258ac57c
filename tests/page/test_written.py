"""Arithmetic holds: where prose or a cell writes it out, and where words say it.

The digits are those that a reader sees, as the notebook stores them.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.page.derived import DERIVED
from tests.page.records import CHAPTERS, notebook_of
from tests.page.written import LINK, Sum, ends, equations, meet

BY_NAME = {path.stem: path for path in CHAPTERS}
WORD = re.compile(r"[a-z]\w*")


def paragraphs(path: Path) -> Iterator[str]:
    """Every paragraph of a chapter's prose, on one line."""
    for cell in notebook_of(path)["cells"]:
        if cell["cell_type"] == "markdown":
            for each in re.split(r"\n\s*\n", "".join(cell["source"])):
                yield " ".join(each.split())


def printed(path: Path) -> Iterator[str]:
    """Every line that a code cell of a chapter prints, as it is stored."""
    for cell in notebook_of(path)["cells"]:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stdout":
                for line in "".join(output["text"]).splitlines():
                    yield " ".join(line.split())


@cache
def numbers(path: Path) -> dict[str, str]:
    """Every number that prose links to, as it is printed, by its name."""
    return {
        name: text for each in paragraphs(path) for text, name in LINK.findall(each)
    }


def derived(chapter: str, line: str) -> bool:
    """Whether what a line derives is the number that is printed."""
    known = numbers(BY_NAME[chapter])
    name, _, rest = line.partition(" = ")
    tokens = [known[each] if WORD.match(each) else each for each in rest.split()]
    return meet(ends(known[name]), Sum(tokens).value())


@cache
def found(path: Path) -> list[tuple[str, bool]]:
    """Every equation that a chapter's prose writes out, and whether it holds."""
    return [each for text in paragraphs(path) for each in equations(text)]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_an_equation_in_prose_holds_in_its_own_digits(path: Path) -> None:
    assert [written for written, holds in found(path) if not holds] == []


def test_an_equation_that_a_cell_prints_holds_in_its_own_digits() -> None:
    held = {
        path.stem: [each for line in printed(path) for each in equations(line)]
        for path in CHAPTERS
    }
    for chapter, all_ in held.items():
        assert [written for written, holds in all_ if not holds] == [], chapter
    assert {name for name, all_ in held.items() if len(all_) > 2} == {
        "quantization",
        "varlen_batching",
    }


def test_many_equations_are_found_in_prose() -> None:
    count = {path.stem: len(found(path)) for path in CHAPTERS}
    assert sum(count.values()) > 120, count
    assert sum(1 for many in count.values() if many) > 12, count


@pytest.mark.parametrize(
    ("chapter", "line"),
    [(name, line) for name, all_ in DERIVED.items() for line in all_],
)
def test_a_number_is_what_its_paragraph_derives_it_from(
    chapter: str, line: str
) -> None:
    assert derived(chapter, line)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("In all [180](#num-a) · [18.5](#num-b) = [3,330](#num-c):", [True]),
        ("In all [180](#num-a) · [18.5](#num-b) = [3,300](#num-c):", [False]),
        ("3 · ([45.6](#num-a) − [10.9](#num-b)) = [104 ms](#num-c).", [True]),
        ("[4.8 TB/s](#num-a) / [69.5 GB](#num-b) = [69.06](#num-c)", [True]),
        ("[7 kB](#num-a) + [7 kB](#num-b) = [14 kB](#num-c) = [15 kB](#num-d)",
         [True]),
        ("exp([3](#num-a) − 5) = [0.135](#num-b)", []),
        ("a batch of [8](#num-a) = a queue", []),
    ],
)  # fmt: skip
def test_what_is_written_out_is_computed(text: str, holds: list[bool]) -> None:
    assert [held for _, held in equations(text)] == holds
