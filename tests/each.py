"""What tests that look at each part of a figure or a table read it with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from llmserve_lab.page.live import registry
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.step.figure import StepFigure, StepLog
from llmserve_lab.page.table import Table
from tests.page import seen
from tests.page.records import CHAPTERS
from tests.page.test_recomputed import compared, ends

Row = dict[str, Any]
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+)?")


@cache
def step(name: str) -> StepFigure:
    """A step figure, made once."""
    return registry.steps()[name]()


@cache
def live(name: str) -> LiveFigure:
    """A live figure, made once."""
    return registry.figures()[name]()


def alive(log: StepLog, table: str, at: int) -> list[Row]:
    """Rows of a table that are seen in a frame."""
    return [dict(row) for row in log.tables[table] if seen.alive(row, at)]


def numbers(text: str) -> list[float]:
    """Numbers of a text in their order, with their signs."""
    found = (each.replace("−", "-").replace(",", "") for each in NUMBER.findall(text))
    return [float(each) for each in found]


def rows(table: Table) -> list[dict[str, str]]:
    """Rows of a table by head; one that comes again bears its place behind it."""
    return _by_head(table.columns, table.rows)


def _by_head(heads: Sequence[str], lines: Iterable[Any]) -> list[dict[str, str]]:
    names = [
        head if heads.index(head) == place else f"{head} {place}"
        for place, head in enumerate(heads)
    ]
    return [dict(zip(names, map(str, line), strict=True)) for line in lines]


def agrees(cell: str, value: float) -> bool:
    """Whether a cell prints this number, to the digits that there are."""
    found = ends(cell)
    return found is not None and found[0] <= value <= found[1]


def agree(cells: Sequence[str], values: Sequence[float]) -> bool:
    """The same, cell by cell."""
    return all(agrees(cell, at) for cell, at in zip(cells, values, strict=True))


def stored(chapter: str, caption: str) -> list[dict[str, str]]:
    """The same of a table as a chapter stores it, where making it takes seconds."""
    (path,) = (path for path in CHAPTERS if path.stem == chapter)
    (table,) = (each for each in compared(path) if each.caption.startswith(caption))
    return _by_head(table.heads, table.rows)
