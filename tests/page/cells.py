"""Cells of a table by their headings, and whether one says a number as printed."""

from __future__ import annotations

import re
from typing import Any

from llmserve_lab.page.table import Table

PREFIXES = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SAID = re.compile(
    r"([-−+]?\d[\d,]*)(\.\d+)?\s?(%|×)?(?:([nµmkMGT])?(?:s|B|B/s|byte)(?![\w]))?"
)


def lines(table: Table) -> list[dict[str, str]]:
    """Every row by the headings; of two alike the second has its number behind it."""
    heads = list[str]()
    for head in table.columns:
        again = sum(each.partition(" #")[0] == head for each in heads)
        heads.append(f"{head} #{again + 1}" if again else head)
    cells = [
        [str(cell).replace("\N{NO-BREAK SPACE}", " ") for cell in r] for r in table.rows
    ]
    return [dict(zip(heads, row, strict=True)) for row in cells]


def number(cell: str) -> tuple[float, float]:
    """The first number of a cell in its unit without prefix, and half its last digit.

    Of a whole number of more than three digits only three may count.
    """
    found = SAID.search(cell)
    assert found, cell
    whole, behind, mark, prefix = found.groups()
    digits = whole.replace(",", "").replace("−", "-")
    scale = PREFIXES.get(prefix or "", 1.0)
    zeros = len(digits) - len(digits.rstrip("0")) if not behind else 0
    last = 10.0 ** (
        min(zeros, max(0, len(digits) - 3)) if not behind else 1 - len(behind)
    )
    value = float(digits + (behind or ""))
    scale *= 0.01 if mark == "%" else 1.0
    return value * scale, 0.5001 * last * scale


def says(cell: str, want: float) -> bool:
    """Whether the number of a cell is this one, rounded."""
    value, off = number(cell)
    return abs(value - want) <= off + 1e-12


def wrong(table: Table, columns: dict[str, Any]) -> list[tuple[str, ...]]:
    """Cells that do not say what their column is: row, head, cell, and what it is.

    Every column after the first must be told. What one is may be a number or a text.
    """
    found = list[tuple[str, ...]]()
    for row in lines(table):
        first, *others = row
        assert {*others} == {*columns}, {*others} ^ {*columns}
        for head in others:
            want = columns[head](row[first])
            right = (
                row[head] == want if isinstance(want, str) else says(row[head], want)
            )
            if not right:
                found.append((row[first], head, row[head], str(want)))
    return found


NUMBER = r"([-−]?\d[\d,]*(?:\.\d+)?(?: ?%| [nµmkMGT]?(?:s|B)\b)?)"


def unsaid(text: str, words: str, *wants: float) -> list[tuple[str, float]]:
    """Numbers of a text that are others than wanted, by the words around them.

    In the words ``#`` stands for a number, and ``…`` for whatever lies between.
    """
    pattern = re.escape(words).replace(r"\#", NUMBER).replace("…", ".*?")
    found = re.search(pattern, " ".join(text.split()))
    assert found, f"{words} is not in {text}"
    pairs = zip(found.groups(), wants, strict=True)
    return [(cell, want) for cell, want in pairs if not says(cell, want)]
