"""The table of measured groups: its errors are those of the two rates beside them."""

from __future__ import annotations

from llmserve_lab.afd.page import comparison
from tests.page.test_recomputed import Compared, agrees


def test_the_last_column_is_that_of_the_rates_in_its_own_row() -> None:
    made = comparison.measured_table()
    rows = [[str(cell) for cell in row] for row in made.rows]
    table = Compared(made.caption, [*made.columns], rows)
    ((real, ours, off),) = table.columns()
    assert len(rows) > 1
    for row in rows:
        assert agrees(row[real], row[ours], row[off], of_rate=False), row
