"""Statements of a file: imports, classes and functions stand nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

HOLDERS = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(path: Path) -> Iterator[ast.AST]:
    """All of them, however deep, and what holds them; no look at the expressions.

    Those are most of a file, and no statement is in one.
    """
    found: list[ast.AST] = [ast.parse(path.read_text("utf8"))]
    for node in found:
        yield node
        for holder in HOLDERS:
            held = getattr(node, holder, None)
            found += held if isinstance(held, list) else ()
