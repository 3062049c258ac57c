"""Errors in tables are those of the cells beside them, in every row of every table."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.page.records import CHAPTERS, notebook_of, stored_html

MEASURED = re.compile(r"\b(measured|published)\b")
PREDICTED = re.compile(r"\b(predicted|model|engine|book)\b")
OFF = re.compile(r"\b(off|off by|error)\b")
NUMBER = re.compile(r"^([-−+]?\d[\d,]*(?:\.\d+)?) ?(%|×)?")
LAST = 0.500001  # of the last digit that is printed
Ends = tuple[float, float]


class Compared:
    """A table with one column measured, one predicted, and how far off that is."""

    def __init__(self, caption: str, heads: list[str], rows: list[list[str]]) -> None:
        self.caption, self.heads, self.rows = caption, heads, rows

    def columns(self) -> Iterator[tuple[int, int, int]]:
        """Places of measured, predicted and error: an error's are the nearest."""
        for place, head in enumerate(self.heads):
            if OFF.search(head) and not MEASURED.search(head):
                before = range(place - 1, -1, -1)
                ours = [at for at in before if PREDICTED.search(self.heads[at])]
                real = [at for at in before if MEASURED.search(self.heads[at])]
                if ours and real and {ours[0], real[0]} == {place - 1, place - 2}:
                    yield real[0], ours[0], place


def ends(cell: str, *, rounded: bool = True) -> Ends | None:
    """Between what a printed number lies; ``None`` where a cell begins with none.

    Zeros at the end of a whole number may be ``rounded`` ones.
    """
    found = NUMBER.match(cell)
    if not found:
        return None
    text = found[1].replace("−", "-").replace(",", "").lstrip("+")
    digits, _, behind = text.partition(".")
    whole = rounded and not behind
    zeros = len(digits) - len(digits.rstrip("0")) if whole else 0
    half = LAST * 10.0 ** (zeros - len(behind))
    return float(text) - half, float(text) + half


def unit(cell: str) -> str:
    """What follows a printed number."""
    return re.sub(r"[\[(].*", "", NUMBER.sub("", cell)).strip()


def agrees(
    measured: str, predicted: str, off: str, *, of_rate: bool, percent: bool = False
) -> bool | None:
    """Whether an error can be that of the two; ``None`` where a cell has no number.

    An error of a rate is that of the inverse of the two times beside it. One without
    its sign is a mean of many distances, which the two means do not tell. A table may
    say for all its errors that they are in ``percent``.
    """
    real, ours, said = ends(measured), ends(predicted), ends(off, rounded=False)
    signed = ("%" in off or percent) and off[0] in "+-−0"
    if not (real and ours and said and signed and unit(measured) == unit(predicted)):
        return None
    if of_rate:
        real, ours = ours, real
    least, most = 100 * (ours[0] / real[1] - 1), 100 * (ours[1] / real[0] - 1)
    return least <= said[1] and said[0] <= most


@cache
def compared(path: Path) -> tuple[Compared, ...]:
    """Every table of a chapter's stored outputs."""
    found = []
    for html in stored_html(notebook_of(path)):
        if "<table" not in html:
            continue
        for table in BeautifulSoup(html, "html.parser")("table"):
            cells = [
                [" ".join(cell.get_text(" ").split()) for cell in row(["th", "td"])]
                for row in table("tr")
            ]
            rows = [row for row in cells[1:] if len(row) == len(cells[0])]
            caption = table.find("caption")
            found.append(
                Compared(caption.get_text() if caption else "", cells[0], rows)
            )
    return tuple(found)


def checked(path: Path) -> Iterator[tuple[str, bool]]:
    """Each error that can be recomputed, where it stands, and whether it agrees."""
    for table in compared(path):
        in_percent = "errors in per cent" in table.caption
        for real, ours, place in table.columns():
            of_rate = "of the rate" in table.heads[place]
            for row in table.rows:
                cells = row[real], row[ours], row[place]
                fits = agrees(*cells, of_rate=of_rate, percent=in_percent)
                if fits is not None:
                    yield f"{table.caption}: {row}", fits


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_an_error_is_that_of_the_cells_beside_it(path: Path) -> None:
    assert [where for where, fits in checked(path) if not fits] == []


def test_many_errors_in_many_chapters_are_recomputed() -> None:
    count = {path.stem: len([*checked(path)]) for path in CHAPTERS}
    assert sum(count.values()) > 60, count
    assert count["attention_ffn"] >= 4, count
    assert sum(1 for many in count.values() if many) > 6, count


@pytest.mark.parametrize(
    ("cells", "of_rate", "fits"),
    [
        (("1,850", "1,767", "−4.5%"), False, True),
        (("1,850", "1,767", "+4.7%"), False, False),
        (("1,850", "1,767", "−6.1%"), False, False),
        (("39.0 ms", "31.4 ms", "+24 %"), True, True),
        (("39.0 ms", "31.4 ms", "−19 %"), True, False),
        (("2320", "1990", "−15 %"), False, True),
        (("1.20 (1.05–1.33)", "1.24", "6%"), False, None),
        (("–", "1.24", "+9%"), False, None),
    ],
)
def test_an_error_of_other_cells_is_found(
    cells: tuple[str, str, str], of_rate: bool, fits: bool | None
) -> None:
    assert agrees(*cells, of_rate=of_rate) is fits


def test_a_table_may_say_for_all_that_errors_are_in_per_cent() -> None:
    for off, fits in (("−3.57", True), ("−53.90", False)):
        cells = "11.78", "11.36", off
        assert agrees(*cells, of_rate=False, percent=True) is fits
        assert agrees(*cells, of_rate=False) is None
