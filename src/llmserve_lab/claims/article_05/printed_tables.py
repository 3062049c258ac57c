"""The first table of article 05, section 3: what is printed, and what comes out."""

from __future__ import annotations

from llmserve_lab.claims.article_05.section_3 import PARTS, ROWS, Mix
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table


def mixes_table() -> Table:
    """Table of the mixes: FLOPs of both kinds, and the time."""
    rows = []
    for name, prompt, cells in ROWS:
        beside = [
            f"{cell.printed} → {_shown(getattr(Mix(prompt), part), part)}"
            for part, cell in zip(PARTS, cells, strict=True)
            if part != "total"
        ]
        rows.append((name, *beside))
    columns = ("prompt", "linear", "attention", "time")
    return Table(
        "Eight decodes and a prompt, article 05, printed → recomputed", columns, rows
    )


def _shown(value: float, part: str) -> str:
    return si(value, "s" if part == "wall" else "FLOP")
