"""A line that cannot be read is named: which file, which line, which field, and why."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import reprlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any, Literal, TypeVar, cast

from llmserve_lab.checks import of_type

BROKEN_ARCHIVE = (OSError, EOFError, lzma.LZMAError, zlib.error)
Compression = Literal["none", "gzip", "bz2", "xz"]
Value = TypeVar("Value")
Content = TypeVar("Content", str, list[str])
MOST_LINE = 2**24  # characters: files may be long, what is in memory at a time not
SHORT = reprlib.Repr()  # of what was found, in a message
SHORT.maxstring = SHORT.maxlong = SHORT.maxother = 80


class MalformedLineError(ValueError):
    """A line of a trace does not hold what its format says."""

    def __init__(self, where: Line, field: str, rule: str, found: object) -> None:
        self.path, self.line, self.field = where.path, where.number, field
        super().__init__(
            f"{where.path}, line {where.number}: {field} must be {rule}, "
            f"got {SHORT.repr(found)}"
        )


class Line:
    """One line of a file: its fields by name, and where it stands (from 1)."""

    def __init__(self, path: Path, number: int, fields: Mapping[str, Any]) -> None:
        self.path, self.number, self.fields = path, number, fields

    def __getitem__(self, field: str) -> Any:
        if self.fields.get(field) is None:
            raise MalformedLineError(self, field, "there", "nothing")
        return self.fields[field]

    def read(self, field: str, rule: str, reading: Callable[[Any], Value]) -> Value:
        """The field as ``reading`` takes it, which raises ValueError if it cannot.

        Raises:
            MalformedLineError: the field is missing, or breaks ``rule``.
        """
        found = self[field]
        try:
            return reading(found)
        except (ValueError, TypeError, OverflowError):
            raise MalformedLineError(self, field, rule, found) from None

    def tokens(self, field: str, *, least: int = 1) -> int:
        """A whole number of tokens, at least ``least``."""
        rule = f"a whole number of at least {least} token{'s' * (least != 1)}"
        return self.read(field, rule, lambda found: _whole(found, least))


def _whole(found: Any, least: int) -> int:
    if isinstance(found, bool | float) or int(plain(found)) < least:
        raise ValueError
    return int(found)


def plain(found: Any) -> Any:
    """What was found, if it is no text that only Python takes for a number: 1_0."""
    if isinstance(found, str) and ("_" in found or not found.isascii()):
        raise ValueError
    return found


def place(path: str | PathLike[str]) -> Path:
    """A path, whatever it is given as.

    Raises:
        TypeError: it is none.
    """
    of_type(str | PathLike, path=path)
    return Path(path)


def opened(path: Path, compression: Compression = "none", **how: Any) -> IO[str]:
    """A file as text, unpacked on the way."""
    archives: dict[str, Callable[..., Any]]
    archives = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
    text = {"encoding": "utf-8-sig", "errors": "replace", **how}
    if compression == "none":
        return cast("IO[str]", path.open("r", **text))
    return cast("IO[str]", archives[compression](path, "rt", **text))


def bounded(path: Path, file: IO[str]) -> Iterator[str]:
    """Lines of a file, none longer than fits into memory with ease.

    Raises:
        MalformedLineError: a line is longer.
    """
    number = 0
    while text := file.readline(MOST_LINE + 1):
        number += 1
        if len(text) > MOST_LINE:
            rule = f"of at most {MOST_LINE:,} characters"
            raise MalformedLineError(Line(path, number, {}), "line", rule, text)
        yield text


def csv_lines(
    path: Path, columns: Sequence[str], compression: Compression = "none"
) -> Iterator[Line]:
    """Lines of a CSV file below its heading, which must name ``columns``.

    Columns are found by their names; others may stand beside them. One line is in
    memory at a time. Blank lines may end the file.
    """
    with opened(path, compression, newline="") as file:
        rows = _rows(path, bounded(path, file))
        _, heading = next(rows, (1, []))
        for column in columns:
            if column not in heading:
                at = Line(path, 1, {})
                raise MalformedLineError(at, column, "a column of the heading", heading)
        for number, cells in filled(path, rows):
            line = Line(path, number, dict(zip(heading, cells, strict=False)))
            if len(cells) > len(heading):
                rule = f"the last of {len(heading)} fields"
                raise MalformedLineError(line, heading[-1], rule, cells)
            yield line


def _rows(path: Path, file: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line."""
    rows = csv.reader(file)
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except (csv.Error, *BROKEN_ARCHIVE) as error:
            at = Line(path, rows.line_num, {})
            raise MalformedLineError(at, "line", "CSV", str(error)) from None
        yield rows.line_num, cells


def filled(
    path: Path, rows: Iterable[tuple[int, Content]]
) -> Iterator[tuple[int, Content]]:
    """Lines and their numbers; those that are blank are passed over at the end only."""
    blank = 0
    for number, content in rows:
        if not content:
            blank = blank or number
        elif blank:
            raise MalformedLineError(Line(path, blank, {}), "line", "filled", "")
        else:
            yield number, content


def in_order(line: Line, field: str, time_s: float, before_s: float) -> float:
    """``time_s``, if it is not earlier than the line before it."""
    if time_s < before_s:
        raise MalformedLineError(
            line, field, "no earlier than the line before it", line[field]
        )
    return time_s
