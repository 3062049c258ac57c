"""Two numbers that a sentence sets side by side are two: in their code, and as text."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.page.records import CHAPTERS, ROOT, notebook_of

LINK = r"\[([^\[\]]*)\]\(#num-(\w+)\)"
BETWEEN = r"[^.:;\[\]]{0,40}?"  # words within the same clause
PAIRS = tuple(
    re.compile(rf"{before}{LINK}{BETWEEN}{words} {LINK}")
    for before, words in (
        (r"\b[Ff]rom ", r" to"),
        (r"\b[Bb]etween ", r" and"),
        ("", r" instead of"),
        ("", r" rather than"),
        ("", r",? against"),
        ("", r",? not"),
    )
)
every_notebook = pytest.mark.parametrize(
    "path", [ROOT / "intro.ipynb", *CHAPTERS], ids=lambda path: path.stem
)


def pairs_in(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Text and name of the first number, then of the second."""
    said = " ".join(text.split())
    for pair in PAIRS:
        for found in pair.finditer(said):
            one, name, other, second = found.groups()
            yield one, name, other, second


@cache
def glued(path: Path) -> dict[str, str]:
    """Every number of a notebook by name: the code that makes it, unformatted."""
    found = {}
    for cell in notebook_of(path)["cells"]:
        if cell["cell_type"] != "code":
            continue
        lines = "".join(cell["source"]).splitlines()
        source = "\n".join(line for line in lines if not line.startswith("%"))
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call):
                for keyword in call.keywords:
                    if keyword.arg:
                        found[keyword.arg] = made_of(keyword.value)
    return found


def made_of(value: ast.expr) -> str:
    """The expressions in a text, without its formats, units and words."""
    if not isinstance(value, ast.JoinedStr):
        return ast.unparse(value)
    parts = [part for part in value.values if isinstance(part, ast.FormattedValue)]
    return ", ".join(ast.unparse(part.value) for part in parts)


@every_notebook
def test_two_numbers_side_by_side_are_made_differently_and_differ(path: Path) -> None:
    made, alike = glued(path), []
    for cell in notebook_of(path)["cells"]:
        if cell["cell_type"] == "markdown":
            for one, name, other, second in pairs_in("".join(cell["source"])):
                same = made.get(name, name) == made.get(second, second)
                if same or one == other:
                    alike.append((one, name, other, second))
    assert alike == []


def test_every_pair_is_read_and_its_code_is_known() -> None:
    count = 0
    for path in CHAPTERS:
        for cell in notebook_of(path)["cells"]:
            if cell["cell_type"] == "markdown":
                for _, *names in pairs_in("".join(cell["source"])):
                    count += 1
                    assert glued(path).keys() >= {names[0], names[2]}, names
    assert count > 40
    assert [*pairs_in("rises from [1 ms](#num-a) with\none to [2 ms](#num-b)")]
    text = ast.parse("f'{1e3 * run.s:.1f} ms'", mode="eval").body
    assert made_of(text) == made_of(ast.parse("1e3 * run.s", mode="eval").body)
