"""Article 06, section 3: both tables, cell by cell, in the article's own setting.

The tables define intensity as 2Π·T over bytes, attention's FLOPs left out, and their
cells are judged by that definition; where the omission matters, the reason says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from llmserve_lab.claims.article_06.setting import (
    at,
    decode,
    gib_as_gb,
    mixed_bytes,
    prefill,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Recompute
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.text import plain, si
from llmserve_lab.roofline import formulas as f

ROUNDED, MIXED = Ruling.WITHIN_ROUNDING, Ruling.INCONSISTENT
Cell = tuple[str, Ruling]


@dataclass(frozen=True)
class Row:
    """One row of a table: a phase at a context, in units of 1024 tokens."""

    name: str
    phase: Callable[[Formula, float], float]
    thousands: int

    def of(self, formula: Formula) -> float:
        """``formula`` for this row, in its own unit."""
        return self.phase(formula, self.thousands)

    def kv_bytes(self) -> float:
        """KV bytes read."""
        return self.of(f.KV_READ_BYTES)

    def total_bytes(self) -> float:
        """Weights and cache, both in bytes of the same size."""
        return self.of(f.ITERATION_BYTES)

    def intensity(self) -> float:
        """FLOPs of the linear layers over all bytes."""
        return self.of(f.LINEAR_INTENSITY)

    def over_ridge(self) -> float:
        """Intensity over the article's ridge."""
        return self.intensity() / at(f.RIDGE)

    def kv_in_gib(self) -> float:
        """KV bytes if GiB were GB."""
        return gib_as_gb(self.kv_bytes())

    def mixed_total(self) -> float:
        """GB of weights plus GiB of cache, called GB."""
        return mixed_bytes(self.kv_bytes())

    def mixed_intensity(self) -> float:
        """FLOPs of the linear layers over the mixed total."""
        return self.of(f.LINEAR_FLOPS) / self.mixed_total()

    def over_datasheet_ridge(self) -> str:
        """Intensity over the ridge at peak compute, for a reason."""
        ratio = self.intensity() / at(f.RIDGE, eff_compute=1)
        return f"over the datasheet's ridge it is ×{plain(ratio, 2)}"

    def with_attention(self) -> str:
        """Intensity with the FLOPs of attention counted, for a reason."""
        counted = si(self.of(f.INTENSITY), "FLOP/byte")
        return f"with the FLOPs of attention counted it is {counted}"


@dataclass(frozen=True)
class Column:
    """One column: what its cells say, how they are computed, how they were mixed up."""

    says: str
    unit: str
    value: Callable[[Row], float]
    mixed: tuple[str, Callable[[Row], float]] | None = None
    aside: Callable[[Row], str] | None = None

    def claim(self, number: int, row: Row, cell: Cell) -> Claim:
        """The record of one cell."""
        printed, verdict = cell
        return Claim(
            id=f"06-{number:02}",
            section="§3",
            says=f"{row.name} {row.thousands} k: {self.says}",
            parts=(
                Number(printed, self.unit, self._of(row), readings=self._readings(row)),
            ),
            verdict=verdict,
            why=lambda: self._why(row, verdict),
        )

    def _of(self, row: Row) -> Recompute:
        return lambda: self.value(row)

    def _readings(self, row: Row) -> Mapping[str, Recompute]:
        if self.mixed is None:
            return {}
        name, reading = self.mixed
        return {name: lambda: reading(row)}

    def _why(self, row: Row, verdict: Ruling) -> str:
        name = (
            self.mixed[0]
            if self.mixed and verdict is MIXED
            else "It rounds to the digits printed"
        )
        also = f"; {self.aside(row)}" if self.aside else ""
        return f"{name}{also}."


KV = Column(
    "KV bytes", "byte", Row.kv_bytes, ("They are GiB, printed as GB", Row.kv_in_gib)
)
TOTAL = Column(
    "bytes in total",
    "byte",
    Row.total_bytes,
    ("GB of weights are added to GiB of cache", Row.mixed_total),
)
INTENSITY = Column(
    "2Π·T over bytes",
    "FLOP/byte",
    Row.intensity,
    ("It is divided by GB of weights plus GiB of cache", Row.mixed_intensity),
    Row.with_attention,
)
OVER_RIDGE = Column(
    "intensity over ridge",
    "dimensionless",
    Row.over_ridge,
    aside=Row.over_datasheet_ridge,
)

# Number of the first claim, context in units of 1024 tokens, then the cells as printed.
Printed = tuple[int, int, tuple[Cell, ...]]
DECODE: tuple[Printed, ...] = (
    (8, 1, (("16 GB", MIXED), ("30 GB", MIXED), ("~15", MIXED))),
    (11, 4, (("64 GB", MIXED), ("78 GB", MIXED), ("~5.7", MIXED))),
    (14, 16, (("256 GB", MIXED), ("270 GB", MIXED), ("~1.7", MIXED))),
    (17, 64, (("1.0 TB", MIXED), ("1.0 TB", MIXED), ("~0.4", ROUNDED))),
)
PREFILL: tuple[Printed, ...] = (
    (24, 4, (("2 GB", MIXED), ("~1800", ROUNDED), ("×12", ROUNDED))),
    (27, 64, (("32 GB", MIXED), ("~620", MIXED), ("×4", ROUNDED))),
    (30, 256, (("128 GB", MIXED), ("~200", MIXED), ("×1.3", ROUNDED))),
    (33, 1024, (("512 GB", MIXED), ("~55", MIXED))),
)


def _table(
    name: str,
    phase: Callable[[Formula, float], float],
    columns: tuple[Column, ...],
    rows: tuple[Printed, ...],
) -> Iterator[Claim]:
    for first, thousands, cells in rows:
        row = Row(name, phase, thousands)
        pairs = zip(columns, cells, strict=False)  # the last row claims one cell less
        for number, (column, cell) in enumerate(pairs, start=first):
            yield column.claim(number, row, cell)


CLAIMS = (
    *_table("Decode table, context", decode, (KV, TOTAL, INTENSITY), DECODE),
    *_table("Prefill table, prefix", prefill, (KV, INTENSITY, OVER_RIDGE), PREFILL),
)
