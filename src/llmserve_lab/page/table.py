"""One table for the whole book: readable as text, and as HTML by eye and by ear.

Text is what a terminal and a diff show; HTML is what the page shows: a caption, column
and row headers with a scope, numbers aligned to the right, and a frame that scrolls
sideways on a narrow screen and can be reached with the keyboard.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

from llmserve_lab.formula.band import ErrorBand
from llmserve_lab.formula.origin import CellRun, Sourced
from llmserve_lab.formula.text import plain, without_links
from llmserve_lab.page.band_beside import shown
from llmserve_lab.page.banded import band_of
from llmserve_lab.page.cell import this_run
from llmserve_lab.page.html import linked
from llmserve_lab.page.number_record import Provenance, marked

Cell = str | int | float
NUMBER_LIKE = re.compile(r"[~≈<>≤≥]?\s*[-−+]?\.?\d")
EMPTY = ("", "–", "—")
BAND = "error band"
WRAP = "table-wrap tex2jax_process mathjax_process"  # cells may hold \( … \)


def cell_text(cell: Cell, digits: int = 4) -> str:
    """Print a cell: whole numbers in full, other numbers to ``digits`` digits."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}" if abs(cell) >= 10**4 else str(cell)
    return plain(cell, digits)


@dataclass(frozen=True)
class Table:
    """A caption, column headings, rows of cells (text or numbers), notes below.

    The first column names the row unless ``row_headers`` is false. A column in which
    every cell is a number, or begins like one (``"14 GB"``), is aligned to the right.
    A cell may refer to a note by its number: ``"80 GB [2]"``. A :class:`Sourced` cell
    says where its number is from, one made by ``banded`` how far off such numbers were;
    the others are from the run that made the table,
    whose ``settings`` (text, numbers, or cited numbers) are kept with it. Where all
    numbers are predictions of one kind, ``band`` says below how far off they are. The
    headings of a ``sortable`` table sort it, on a built page. Where the second column
    has a command's ``options``, these stay on one line.

    Raises:
        TypeError: a cell is neither text nor a number.
        ValueError: the caption is empty, there is no column or one without a name, a
            row has another length than the heading, or a number is not finite.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    row_headers: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)
    band: ErrorBand | None = None
    sortable: bool = False
    options: bool = False

    def __post_init__(self) -> None:
        if not self.caption.strip():
            raise ValueError(
                "caption must say what the table shows, got an empty string"
            )
        if not self.columns:
            raise ValueError("columns must name at least one column, got none")
        if not all(each.strip() for each in self.columns):
            raise ValueError(f"columns must each have a name, got {self.columns!r}")
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "rows", tuple(tuple(row) for row in self.rows))
        object.__setattr__(self, "notes", tuple(self.notes))
        for number, row in enumerate(self.rows, start=1):
            self._check(number, row)

    def _check(self, number: int, row: Sequence[Cell]) -> None:
        want = len(self.columns)
        if len(row) != want:
            raise ValueError(f"row {number} must have {want} cells, got {len(row)}")
        for column, cell in zip(self.columns, row, strict=True):
            where = f"row {number}, column {column!r}"
            if isinstance(cell, bool) or not isinstance(cell, str | int | float):
                raise TypeError(f"{where} must be text or a number, got {cell!r}")
            if isinstance(cell, float) and not math.isfinite(cell):
                raise ValueError(f"{where} must be finite, got {cell}")

    @cached_property
    def numeric(self) -> tuple[bool, ...]:
        """For each column, whether all its cells read as numbers (row headers: no)."""
        columns = [[row[i] for row in self.rows] for i in range(len(self.columns))]
        found = [_reads_as_numbers(cells) for cells in columns]
        return (False, *found[1:]) if self.row_headers else tuple(found)

    def __repr__(self) -> str:
        """Aligned plain text: caption, heading, rule, rows, numbered notes."""
        rows = (self.columns, *self.rows)
        grid = [[_as_text(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        lines = [_line(row, widths, self.numeric) for row in grid]
        rule = "  ".join("─" * width for width in widths)
        notes = [
            f"[{i}] {without_links(note)}" for i, note in enumerate(self.notes, start=1)
        ]
        if self.band is not None:
            notes.append(f"{BAND}: {self.band}")
        below = ["", *notes] if notes else []
        return "\n".join([self.caption, "", lines[0], rule, *lines[1:], *below])

    def _repr_html_(self) -> str:
        """Semantic HTML, the same bytes every time, everything escaped."""
        caption, book = escape(self.caption), Provenance()
        named = "catalog options" if self.options else "catalog"
        # What every number is from that does not say otherwise.
        run = this_run(self.settings) if any(self.numeric) else None
        mark = f' data-run="{book.number(run, band=self.band)}"' if run else ""
        head = "".join(
            _heading(text, number, sort=self.sortable)
            for text, number in self._headed(self.columns)
        )
        rows = ("".join(self._cells(row, book, run)) for row in self.rows)
        body = "\n".join(f"<tr>{row}</tr>" for row in rows)
        return (
            f'<div class="{WRAP}" tabindex="0" role="region" aria-label="{caption}">\n'
            f'<table class="{named}"{mark}>\n<caption>{caption}</caption>\n'
            f"<thead>\n<tr>{head}</tr>\n</thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
            + self._notes()
            + self._banded()
            + book.script()
        )

    def _headed(self, cells: Iterable[Cell]) -> Iterable[tuple[str, bool]]:
        """Texts as HTML, in which a shape such as 4 × 512 stays on one line."""
        shown = (linked(escape(cell_text(cell))) for cell in cells)
        texts = (text.replace(" × ", "&nbsp;×&nbsp;") for text in shown)
        return zip(texts, self.numeric, strict=True)

    def _cells(
        self, row: Sequence[Cell], book: Provenance, run: CellRun | None
    ) -> Iterable[str]:
        for index, (text, number) in enumerate(self._headed(row)):
            if isinstance(cell := row[index], Sourced):
                band, origin = band_of(cell), cell.origin or run
                if origin is not None:
                    text = marked(text, book.number(origin, band=band))
                text += shown(band)
            if index == 0 and self.row_headers:
                yield f'<th scope="row">{text}</th>'
            else:
                yield f"<td{_align(number)}>{text}</td>"

    def _banded(self) -> str:
        """The error band of all numbers, below the notes."""
        said = f"{BAND}: {self.band}"
        return (
            "" if self.band is None else f'\n<p class="table-notes">{escape(said)}</p>'
        )

    def _notes(self) -> str:
        items = "\n".join(f"<li>{linked(escape(note))}</li>" for note in self.notes)
        return f'\n<ol class="table-notes">\n{items}\n</ol>' if items else ""


def _as_text(cell: Cell) -> str:
    """A cell for a terminal, with its error band if it has one."""
    band, text = band_of(cell), without_links(cell_text(cell))
    return text if band is None else f"{text} ({band.short})"


def _reads_as_numbers(cells: Sequence[Cell]) -> bool:
    """Whether a column holds numbers only; empty cells and dashes do not count."""
    texts = [cell_text(cell) for cell in cells]
    filled = [text for text in texts if text not in EMPTY]
    return bool(filled) and all(NUMBER_LIKE.match(text) for text in filled)


def _line(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    cells = (
        text.rjust(width) if number else text.ljust(width)
        for text, width, number in zip(row, widths, numeric, strict=True)
    )
    return "  ".join(cells).rstrip()


def _heading(text: str, number: bool, *, sort: bool) -> str:
    by = (' data-sort="number"' if number else ' data-sort="text"') if sort else ""
    return f'<th scope="col"{_align(number)}{by}>{text}</th>'


def _align(number: bool) -> str:
    return ' class="num"' if number else ""
