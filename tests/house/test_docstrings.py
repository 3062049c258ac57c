"""Docstrings speak of things as things, and of code by names that are there."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from llmserve_lab.formula.registry import formulas
from tests.house.statements import statements, tree

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "llmserve_lab"
PERSON = re.compile(
    r"\b(who|whom|whoever|(?:some|any|every)(?:body|one)|nobody)\b", re.IGNORECASE
)
CODE = re.compile(r"``([A-Za-z_][\w.-]*)(?:\([^`]*\))?``")
WORD = re.compile(r"[\w.-]{1,40}")
# Of Python, of other programs, and of data that others publish.
OUTSIDE = {
    *("concurrent", "futures", "Executor", "__set_name__", "__cause__", "mpiexec"),
    *("_config.yml", "question.js", "silicon_sample.csv", "tokenizer.model"),
    *("cl100k_base", "increase", "histogram_quantile", "iteration_tokens_total"),
    *("B1", "LowLatencyLayout"),
}
ROOMS = sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")})


def parsed(path: Path) -> list[ast.AST]:
    """All nodes of a file."""
    return [*ast.walk(tree(path.read_text("utf8")))]


@cache
def docstrings(path: Path) -> list[str]:
    """Every docstring of a file."""
    return [
        ast.get_docstring(node) or ""
        for node in statements(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]


def people(room: str) -> list[str]:
    """Lines of a room's docstrings in which a thing is a person."""
    home = PACKAGE / room
    lines = (
        (path, line)
        for path in (home.rglob("*.py") if home.is_dir() else [home])
        for text in docstrings(path)
        for line in text.splitlines()
    )
    return [f"{path.name}: {line}" for path, line in lines if PERSON.search(line)]


@pytest.mark.parametrize("room", ROOMS)
def test_a_request_a_rank_or_a_gpu_is_no_person(room: str) -> None:
    assert people(room) == []


def named(node: ast.AST) -> Iterator[str]:
    """The names that a piece of code gives or uses; short strings are names, too."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.arg | ast.keyword) and node.arg:
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield from (node.asname or node.name).split(".")
    elif isinstance(node, ast.Constant) and WORD.fullmatch(str(node.value)):
        yield from (str(node.value), *re.split(r"[.-]", str(node.value)))


def test_code_that_a_docstring_names_is_there() -> None:
    paths = sorted(PACKAGE.rglob("*.py"))
    known = {name for path in paths for node in parsed(path) for name in named(node)}
    known |= OUTSIDE | {part for path in paths for part in (*path.parts, path.stem)}
    known |= {formula.label for formula in formulas()}
    said = {
        (path.name, name)
        for path in paths
        for text in docstrings(path)
        for name in CODE.findall(text)
    }
    lost = [
        (path, name)
        for path, name in sorted(said)
        if name not in known and not set(filter(None, re.split(r"[.-]", name))) <= known
    ]
    assert len(said) > 1000
    assert lost == []
