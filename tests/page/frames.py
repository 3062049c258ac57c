"""Frames of a step figure: rows that are drawn in one, its counters by their labels."""

from __future__ import annotations

from functools import cache
from typing import Any

from llmserve_lab.page.live import registry
from llmserve_lab.page.step.figure import StepFigure
from tests.page.seen import alive

Row = dict[str, Any]


@cache
def made(name: str) -> StepFigure:
    """A figure by its chapter and name; made once in a process."""
    return registry.steps()[name]()


def rows(figure: StepFigure, log: str, at: int, *tables: str) -> list[Row]:
    """Rows of some tables that are seen in a frame."""
    held = figure.logs[log].tables
    return [dict(r) for table in tables for r in held[table] if alive(r, at)]


def counted(figure: StepFigure, log: str, at: int) -> dict[str, float | str]:
    """Every counter of a frame, by its label."""
    values = figure.logs[log].frames[at].counters
    return {c.label: v for c, v in zip(figure.counters, values, strict=True)}
