"""What a reader finds in a table: its caption, and what stands under each heading.

Stored outputs follow a slip in a table; these notes, in ``tests/data/tabled``, do not,
and no target of the Makefile writes them. Who has changed a table reads it, and then
takes its new note: ``python -m tests.page.tabled CHAPTER``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag

ROOT = Path(__file__).parents[2]
NOTES = ROOT / "tests" / "data" / "tabled"
ROWS = 5  # of a long table: the first, the last, and some between
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+)?")
Note = dict[str, Any]


def _said(cell: Tag) -> str:
    return " ".join(cell.get_text(" ").split())


def _kept(rows: int) -> list[int]:
    """Which rows are noted down."""
    return sorted({round(i * (rows - 1) / (ROWS - 1)) for i in range(ROWS)})


def table(found: Tag) -> Note:
    """Caption, number of rows, and the noted cells under each heading, in order."""
    rows = [[_said(cell) for cell in row(["th", "td"])] for row in found("tr")]
    heads, body = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    caption = found.find("caption")
    return {
        "caption": _said(caption) if isinstance(caption, Tag) else "",
        "rows": len(rows) - 1,
        "columns": [
            [head, *(body[at][place] for at in _kept(len(body)) if body)]
            for place, head in enumerate(heads)
        ],
    }


def tables(path: Path) -> list[Note]:
    """Every table in a chapter's stored outputs, from top to bottom."""
    cells = json.loads(path.read_text("utf8"))["cells"]
    shown = (
        "".join(output["data"]["text/html"])
        for cell in cells
        for output in cell.get("outputs", ())
        if "<table" in "".join(output.get("data", {}).get("text/html", ""))
    )
    pages = (BeautifulSoup(html, "html.parser") for html in shown)
    return [table(found) for page in pages for found in page("table")]


def _close(now: str, noted: str) -> bool:
    """A tenth apart at most, or two of the last digit that is printed."""
    one, other = (float(re.sub(r"[,+]", "", x.replace("−", "-"))) for x in (now, noted))
    last = 10.0 ** -len(noted.partition(".")[2])
    return abs(one - other) <= max(0.1 * abs(other), 2 * last)


def same(now: str, noted: str) -> bool:
    """Whether a cell says the same: its words to the letter, its numbers nearly."""
    if NUMBER.sub("#", now) != NUMBER.sub("#", noted):
        return False
    pairs = zip(NUMBER.findall(now), NUMBER.findall(noted), strict=True)
    return all(_close(*pair) for pair in pairs)


def apart(now: Note, noted: Note) -> Iterator[str]:
    """Where a table differs from its note."""
    if now["rows"] != noted["rows"]:
        yield f"{noted['caption']}: {noted['rows']} rows are now {now['rows']}"
    if not same(now["caption"], noted["caption"]):
        yield f"caption {noted['caption']!r} is now {now['caption']!r}"
    for one, other in zip(now["columns"], noted["columns"], strict=False):
        for said, was in zip(one, other, strict=False):
            if not same(said, was):
                yield f"{noted['caption']}, {other[0]}: {was!r} is now {said!r}"
    if len(now["columns"]) != len(noted["columns"]):
        yield f"{noted['caption']}: another number of columns"


def main(asked: list[str]) -> None:
    """Write the notes of the chapters that are named, or of all."""
    NOTES.mkdir(exist_ok=True)
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        found = tables(path)
        if found and (path.stem in asked or not asked):
            text = json.dumps(found, ensure_ascii=False, indent=1)
            column_on_a_line = re.sub(r"\n {3,4}(?=[\]\"])", " ", text)
            (NOTES / f"{path.stem}.json").write_text(column_on_a_line + "\n", "utf8")


if __name__ == "__main__":
    main(sys.argv[1:])
