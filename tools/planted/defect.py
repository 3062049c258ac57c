"""A defect replaces a few bytes of one file; the tests must notice."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

DIGITS = "0123456789"


@dataclass(frozen=True, kw_only=True)
class Defect:
    """Bytes ``start`` to ``end`` of ``file`` become ``after``.

    ``file`` is relative to the root of the tree. ``label`` is that of the formula that
    is hit, where it is one.
    """

    kind: str
    file: str
    start: int
    end: int
    line: int
    before: str
    after: str
    label: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" + (f" ({self.label})" if self.label else "")
        return " ".join(f"{place}: {self.before} → {self.after}".split())


def planted(data: bytes, defects: Iterable[Defect]) -> bytes:
    """The file's bytes with all of ``defects`` in it, which must not overlap."""
    for defect in sorted(defects, key=lambda defect: -defect.start):
        data = data[: defect.start] + defect.after.encode() + data[defect.end :]
    return data


def python_defect(
    kind: str, path: Path, root: Path, node: ast.expr, after: str, label: str = ""
) -> Defect:
    """Replace the source of ``node`` in the Python file ``path`` by ``after``."""
    text = path.read_text("utf8")
    start, end = span(text, node)
    return Defect(
        kind=kind,
        file=path.relative_to(root).as_posix(),
        start=start,
        end=end,
        line=node.lineno,
        before=text.encode()[start:end].decode(),
        after=after,
        label=label,
    )


def span(text: str, node: ast.expr) -> tuple[int, int]:
    """First byte of ``node`` in the UTF-8 of ``text``, and the first one after it."""
    lines = text.encode().splitlines(keepends=True)
    above = [sum(map(len, lines[: n - 1])) for n in (node.lineno, node.end_lineno or 0)]
    return above[0] + node.col_offset, above[1] + (node.end_col_offset or 0)


def other_digit(digit: str, rng: random.Random) -> str:
    """A digit that is not this one."""
    return rng.choice([other for other in DIGITS if other != digit])
