"""Printed ratios, and the unstated choice that gives each of them."""

from __future__ import annotations

from llmserve_lab.claims.afd.ratios import CLAIMS, NINE
from llmserve_lab.claims.parts import Number
from llmserve_lab.page.table import Table


def printed_table() -> Table:
    """Table of every printed best ratio: by the recipe, and by the choice behind it."""
    rows = [
        (f"{claim.section}: {claim.says}", *_cells(part))
        for claim in CLAIMS
        for part in claim.parts
        if isinstance(part, Number)
        and claim.id not in ("000-13", "000-20")
        and (part is not NINE or claim.id == "000-12")
    ]
    columns = ("where", "printed", "recipe as printed", "with the choice", "the choice")
    return Table("Best ratios of the AFD paper", columns, rows)


def _cells(part: Number) -> tuple[str, ...]:
    by_recipe = f"{_number(part.value()):.2f}"
    for name, reading in part.readings.items():
        return part.printed, by_recipe, f"{_number(reading()):.2f}", name
    return part.printed, by_recipe, by_recipe, "none needed"


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
