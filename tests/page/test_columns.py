"""What a column's head, or a row's, says follows from the cells beside it.

Two heads can change places, or two columns their cells, and a table looks as before.
Here a cell is worked out from others of its row, as the head and the notes have it,
and held against what is printed: by :data:`~tests.page.columns.TABLES`. Quotients are
read in ``test_quotients``.
"""

import re
from collections.abc import Iterator
from itertools import product
from math import prod

import pytest

from tests.page.columns import TABLES, Rules, Worked, token_kib
from tests.page.records import CHAPTERS
from tests.page.test_quotients import UNITS
from tests.page.test_recomputed import Compared, Ends, compared, ends

SUM, TIMES = re.compile(r"^\d+(?: \+ \d+)+$"), re.compile(r" [·×] (?=\d)")
UNIT = re.compile(r"^[\d.,]+ ([nµmkMGT])(?:s|B|FLOP)(?:/s)?$")


def one(text: str, *, exact: bool = False) -> Ends | None:
    """Between what one printed number lies, in its unit without a prefix."""
    found, scaled = ends(text, rounded=False), UNIT.match(text)
    if found and exact and "." not in text:
        found = (float(text.replace(",", "")),) * 2
    unit = UNITS[scaled[1]] if scaled else 1.0
    return found and (found[0] * unit, found[1] * unit)


def value(cell: str) -> Ends | None:
    """The same of a cell: a sum or a product is worked out, its whole numbers exact."""
    text = re.sub(r" \[\d+\]$|, \w+$", "", cell)
    if SUM.match(text):
        return (float(sum(map(int, text.split(" + ")))),) * 2
    parts = TIMES.split(text)
    found = [one(part, exact=len(parts) > 1) for part in parts]
    if not all(found):
        return None
    low, high = zip(*(each for each in found if each), strict=True)
    return prod(low), prod(high)


def cells_of(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Cells by their heads; of a sum and of a product also the first number."""
    for head, cell in row.items():
        yield head, cell
        yield f"{head}, first", re.split(r" [·×+] ", cell)[0]


def rows(table: Compared, turned: bool) -> Iterator[dict[str, str]]:
    """Rows of a table by their heads, or its columns by those of the rows."""
    lines = [table.heads, *table.rows]
    heads, *rest = zip(*lines, strict=True) if turned else iter(lines)
    for line in rest:
        yield dict(zip(heads, line, strict=True))


def fits(row: dict[str, str], rule: Worked) -> bool | None:
    """Whether a cell can be what its head says; None where one has no number."""
    cells = dict(cells_of(row))
    printed, given = value(cells[rule.head]), [value(cells[each]) for each in rule.of]
    if not printed or not all(given):
        return None
    found = [rule.by(*corner) for corner in product(*(each for each in given if each))]
    return min(found) <= printed[1] and printed[0] <= max(found)


def checked(rules: Rules) -> Iterator[tuple[str, dict[str, str], bool]]:
    """Every cell that can be worked out: its head, its row, and whether it agrees."""
    (path,) = (path for path in CHAPTERS if path.stem == rules.chapter)
    (table,) = (t for t in compared(path) if t.caption.startswith(rules.caption))
    for row in rows(table, rules.turned):
        for rule in rules.columns:
            known = rule.head in row and rules.but not in row.values()
            right = fits(row, rule) if known else None
            if right is not None:
                yield rule.head, row, right


@pytest.mark.parametrize("rules", TABLES, ids=lambda each: each.caption)
def test_a_cell_is_what_its_head_says_of_the_cells_beside_it(rules: Rules) -> None:
    found = list(checked(rules))
    assert {head for head, *_ in found} == {each.head for each in rules.columns}
    assert [(head, row) for head, row, right in found if not right] == []


def test_heads_that_change_places_are_found() -> None:
    rule = Worked("long", ("numbers", "layers, first"), token_kib)
    cells = {"numbers": "2 · 8 · 64", "layers": "18 + 18 + 0"}
    for long, right in (("36.0", True), ("72.0", False)):
        assert fits({**cells, "long": long}, rule) is right
    assert fits({**cells, "long": "–"}, rule) is None
