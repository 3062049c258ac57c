"""Blocks of a paged cache, stepped: taken, shared, copied, freed, evicted."""

from __future__ import annotations

from typing import Any

from llmserve_lab.kv_memory.lifecycle import BLOCKS, MemoryStep, moments
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.page.step.pictures import lifetimes

COLUMNS = 4
WIDE = 1.7  # of a block, in widths of an entry of a table
TABLE_X = 8.3  # where the block tables begin
LETTERS = "ABCDEF"
LAST = 6  # blocks of the longest table
Row = dict[str, Any]


def blocks_stepped() -> StepFigure:
    """Twelve blocks and the tables that point to them, from the allocator's own log."""
    name = "allocator"
    log = StepLog(
        tuple(_frame(moment) for moment in moments()),
        {
            "blocks": lifetimes([_blocks(moment) for moment in moments()]),
            "entries": lifetimes([_entries(moment) for moment in moments()]),
            "events": _events(),
            "numbers": _numbers(),
        },
    )
    return StepFigure(
        name="paged-blocks",
        title="Each request sees a table of blocks; the blocks themselves lie anywhere",
        scene=Scene(
            x=SceneAxis((-0.1, TABLE_X + LAST + 0.9), shown=False),
            y=SceneAxis((7.2, -0.8), shown=False),
            marks=(
                Cells(table="blocks", x2="x2", y2="y2", text="text"),
                Labels(table="numbers", ink="ink-text"),
                Labels(table="events", align="left"),
                Cells(table="entries", x2="x2", y2="y2", text="text"),
            ),
            height=310,
            width=540,
        ),
        logs={name: log},
        start=4,
        stills=((name, 2), (name, 4), (name, 8)),
        legend={
            **{letter: f"used by {letter} alone" for letter in LETTERS},
            "cache": "shared by several tables",
            "idle": "free, contents kept",
            "empty": "free and blank",
        },
        counters=(
            Counter("free blocks"),
            Counter("blocks copied so far"),
            Counter("evicted so far"),
        ),
    )


def _place(block: int) -> tuple[float, float]:
    """Left and upper edge of a block in memory."""
    return WIDE * (block % COLUMNS), 1.85 * (block // COLUMNS)


def _users(moment: MemoryStep, block: int) -> list[str]:
    return [name for name, table in moment.tables.items() if block in table]


def _blocks(moment: MemoryStep) -> dict[int, Row]:
    """Each block in the ink of what it holds, with the letters of its users."""
    found = {}
    for block in range(BLOCKS):
        users, (x, y) = _users(moment, block), _place(block)
        ink = "cache" if len(users) > 1 else users[0] if users else "empty"
        if block in moment.kept:
            ink = "idle"
        cell = {"x": x + 0.05, "x2": x + WIDE - 0.05, "y": y + 0.35, "y2": y + 1.35}
        found[block] = {**cell, "ink": ink, "text": "".join(users)}
    return found


def _numbers() -> list[Row]:
    """The physical number above each block, and the headings."""
    rows: list[Row] = [
        {"x": x + WIDE / 2, "y": y + 0.1, "text": f"{block}"}
        for block in range(BLOCKS)
        for x, y in (_place(block),)
    ]
    middle = TABLE_X + 0.5 + LAST / 2
    return [
        *rows,
        {"x": WIDE * COLUMNS / 2, "y": -0.5, "text": "physical blocks"},
        {"x": middle, "y": -0.5, "text": "block tables"},
    ]


def _entries(moment: MemoryStep) -> dict[tuple[str, int], Row]:
    """Rows of the block tables: the numbers of the blocks, in the order of the text."""
    found: dict[tuple[str, int], Row] = {}
    for name, table in moment.tables.items():
        y = float(LETTERS.index(name))
        edges = {"y": y + 0.1, "y2": y + 0.9}
        found[name, -1] = {
            **edges, "x": TABLE_X - 0.5, "x2": TABLE_X + 0.35, "ink": name,
            "text": name,
        }  # fmt: skip
        for place, block in enumerate(table):
            shared = len(_users(moment, block)) > 1
            x = TABLE_X + 0.5 + place
            found[name, place] = {
                **edges, "x": x, "x2": x + 0.9, "ink": "cache" if shared else name,
                "text": str(block),
            }  # fmt: skip
    return found


def _events() -> list[Row]:
    """What has just happened, a line for each kind of event: the blocks concerned."""
    rows: list[Row] = []
    for frame, moment in enumerate(moments()):
        lines: dict[str, list[str]] = {}
        for event in moment.events:
            if event.kind == "released":
                continue
            copy = "" if event.source is None else f"{event.source} to "
            lines.setdefault(event.kind, []).append(f"{copy}{event.block}")
        for at, (kind, blocks) in enumerate(lines.items()):
            text = f"{kind}: {', '.join(blocks)}"
            where = {"x": 0.05, "y": 5.85 + 0.6 * at, "text": text}
            rows.append({**where, "since": frame, "until": frame + 1})
    return rows


def _frame(moment: MemoryStep) -> Frame:
    counters = (moment.free, moment.copies, moment.evictions)
    return Frame(moment.said, tuple(map(float, counters)))
