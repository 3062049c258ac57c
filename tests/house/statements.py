"""Statements of a file: imports, classes and functions stand nowhere else."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

HOLDERS = ("body", "orelse", "finalbody", "handlers", "cases")


@cache
def tree(text: str) -> ast.Module:
    """A file taken apart, once for all that look at what stands in it."""
    return ast.parse(text)


@cache
def in_text(text: str) -> list[ast.AST]:
    """All statements, however deep, and what holds them; no look at the expressions.

    Those are most of a file, and no statement is in one.
    """
    found: list[ast.AST] = [tree(text)]
    for node in found:
        for holder in HOLDERS:
            held = getattr(node, holder, None)
            found += held if isinstance(held, list) else ()
    return found


def statements(path: Path) -> list[ast.AST]:
    """The same of a file."""
    return in_text(path.read_text("utf8"))
