"""Both tables of article 06, section 3: what is printed, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from llmserve_lab.claims.article_06.setting import decode, prefill
from llmserve_lab.claims.article_06.tables import (
    DECODE,
    INTENSITY,
    KV,
    OVER_RIDGE,
    PREFILL,
    TOTAL,
    Column,
    Printed,
    Row,
)
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.table import Table
from llmserve_lab.roofline import formulas as f

ABSENT = "–"


def decode_table() -> Table:
    """Table of decode at B = 32: bytes and intensity, as printed and recomputed."""
    columns = {"cache": KV, "cache and weights": TOTAL, "FLOP/byte": INTENSITY}
    return _beside("Decode, article 06, section 3", decode, columns, DECODE)


def prefill_table() -> Table:
    """Table of one chunk on a prefix: bytes, intensity and its ratio to the ridge."""
    columns = {"cache": KV, "FLOP/byte": INTENSITY, "over the ridge": OVER_RIDGE}
    return _beside("Prefill, article 06, section 3", prefill, columns, PREFILL)


def _beside(
    caption: str,
    phase: Callable[[Formula, float], float],
    columns: Mapping[str, Column],
    printed: tuple[Printed, ...],
) -> Table:
    """One cell a claim, "printed → recomputed", and the intensity with attention."""
    rows = []
    for _, thousands, cells in printed:
        row = Row(caption, phase, thousands)
        own = [cell[0] for cell in cells] + [ABSENT] * (len(columns) - len(cells))
        pairs = zip(own, columns.values(), strict=True)
        beside = [f"{text} → {_shown(column, row)}" for text, column in pairs]
        counted = plain(row.of(f.INTENSITY))
        rows.append((f"{thousands} k", *beside, counted))
    headings = ("context", *columns, "with attention")
    return Table(caption, headings, rows)


def _shown(column: Column, row: Row) -> str:
    value = column.value(row)
    return si(value, "byte") if column.unit == "byte" else plain(value)
