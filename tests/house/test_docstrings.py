"""Docstrings speak of requests, ranks and GPUs as things, not as people."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "llmserve_lab"
PERSON = re.compile(
    r"\b(who|whom|whoever|(?:some|any|every)(?:body|one)|nobody)\b", re.IGNORECASE
)
ROOMS = sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")})


def docstrings(path: Path) -> Iterator[str]:
    """Every docstring of a file."""
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


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
