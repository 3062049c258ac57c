"""Errors of the rows, worked out anew by their labels, and what a cell prints."""

from __future__ import annotations

from statistics import fmean

from llmserve_lab.how_wrong.record import row_errors
from llmserve_lab.validation import dense_rows
from llmserve_lab.validation.prediction import Kind
from tests.each import numbers

KINDS: dict[str, Kind] = {"TPOT": "tpot", "TTFT": "ttft"}
LABELS = ("model", "engine", "system", "precision")


def servers(**of: object) -> int:
    """How many servers the rows with these labels come from."""
    own = (r for r in dense_rows() if all(getattr(r, a) == v for a, v in of.items()))
    return len({row.server for row in own})


def first(cell: str) -> float:
    """The first number of a cell."""
    return numbers(cell)[0]


def errors(kind: Kind, left: str, **of: object) -> list[float]:
    """Errors in per cent of rows with these labels; of TTFT those that are scored."""
    return [
        100 * float(error)
        for row, error in zip(dense_rows(), row_errors(kind, left), strict=True)
        if all(getattr(row, name) == value for name, value in of.items())
        and (kind == "tpot" or row.public)
    ]


def mean(found: list[float]) -> float:
    """The mean without signs."""
    return fmean(map(abs, found))


def between(cell: str) -> bool:
    """Whether an interval holds the number before it, if there is one."""
    middle, *ends = numbers(cell)
    return not ends or ends[0] < middle < ends[1]
