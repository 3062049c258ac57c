"""The book's table: what a reader sees, what a screen reader hears, what is refused."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.page.table import Table, cell_text

TABLE = Table(
    "Sizes & speeds <of things>",
    ("thing", "size", "speed", "remark"),
    (
        ("a", 7, "80 GB [1]", "x < y"),
        ("b", 12_345, "≈2 TB/s", "–"),
        ("c", 0.25, "–", ""),
    ),
    notes=('from "a" source', "made up"),
)


class Outline(HTMLParser):
    """Tags with attributes, in order; raises nothing, so balance is checked here."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_text_is_aligned_and_ends_with_the_notes() -> None:
    lines = repr(TABLE).splitlines()
    assert lines[0] == TABLE.caption
    assert lines[2:7] == [
        "thing    size      speed  remark",
        "─────  ──────  ─────────  ──────",
        "a           7  80 GB [1]  x < y",
        "b      12,345    ≈2 TB/s  –",
        "c        0.25          –",
    ]
    assert lines[7:] == ["", '[1] from "a" source', "[2] made up"]


def test_html_can_be_read_by_eye_ear_and_keyboard() -> None:
    page = Outline(TABLE._repr_html_())
    assert page.open == []
    assert page.all("div") == [
        {
            "class": "table-wrap tex2jax_process mathjax_process",
            "tabindex": "0",
            "role": "region",
            "aria-label": TABLE.caption,
        }
    ]
    assert len(page.all("caption")) == 1
    scopes = [header["scope"] for header in page.all("th")]
    assert scopes == ["col"] * 4 + ["row"] * 3
    assert [cell.get("class") for cell in page.all("td")] == ["num", "num", None] * 3
    assert len(page.all("li")) == 2


def test_html_is_escaped_and_the_same_every_time() -> None:
    html = TABLE._repr_html_()
    assert html == TABLE._repr_html_()
    assert "Sizes &amp; speeds &lt;of things&gt;" in html
    assert "x &lt; y" in html
    assert "from &quot;a&quot; source" in html
    assert not re.search(r"<(of|y)", html)


def test_without_row_headers_the_first_column_is_data() -> None:
    table = Table("t", ["n"], [[1], [2]], row_headers=False)
    assert table.numeric == (True,)
    assert "<th scope=" in table._repr_html_()
    assert '<td class="num">1</td>' in table._repr_html_()
    assert Table("t", ["n"], [[1]]).numeric == (False,)
    assert "table-notes" not in table._repr_html_()


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (9999, "9999"),
        (10_000, "10,000"),
        (-10_000, "-10,000"),
        (3.14159, "3.142"),
        (1234567.0, "1,235,000"),
        ("as it is", "as it is"),
    ],
)
def test_cells_as_text(cell: Any, text: str) -> None:
    assert cell_text(cell) == text


@pytest.mark.parametrize(
    ("column", "numeric"),
    [
        (["1", "2 GB", ""], True),
        (["≈ 3", "−4", "–"], True),
        ([".5", "<1"], True),
        (["1", "none"], False),
        (["", "–"], False),
        (["H100", "8"], False),
    ],
)
def test_a_column_is_numeric_when_all_of_it_reads_so(
    column: list[str], numeric: bool
) -> None:
    table = Table("t", ["row", "x"], [["a", cell] for cell in column])
    assert table.numeric == (False, numeric)


def test_rows_may_be_lists_and_are_frozen() -> None:
    rows: list[list[str | int]] = [["a", 1]]
    table = Table("t", ["x", "y"], rows)
    rows[0][1] = 2
    assert table.rows == (("a", 1),)
    assert hash(table) == hash(Table("t", ("x", "y"), (("a", 1),)))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((" ", ["x"], []), ValueError, "caption must say what"),
        (("t", [], []), ValueError, "columns must name at least one"),
        (("t", ["", "a"], []), ValueError, "columns must each have a name"),
        (("t", ["x"], [[1], [1, 2]]), ValueError, "row 2 must have 1 cells, got 2"),
        (
            ("t", ["x"], [[float("nan")]]),
            ValueError,
            "row 1, column 'x' must be finite",
        ),
        (
            ("t", ["x"], [[None]]),
            TypeError,
            "row 1, column 'x' must be text or a number",
        ),
        (("t", ["x"], [[True]]), TypeError, "got True"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(
    arguments: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Table(*arguments)


def test_one_band_of_all_numbers_stands_below() -> None:
    band = Unmeasured("no such server was run")
    table = Table("Times", ("server", "ms"), [("a", "12.1")], ("two notes",), band=band)
    html = table._repr_html_()
    assert "error band: outside everything measured: no such server was run</p>" in html
    assert repr(table).endswith(f"\nerror band: {band}")
