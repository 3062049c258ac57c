"""Blocks of a paged cache, stepped: taken, shared, copied, freed, evicted."""

from __future__ import annotations

from typing import Any

from llmserve_lab.kv_memory.lifecycle import BLOCKS, SIZE, MemoryStep, moments
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.page.step.pictures import lifetimes

COLUMNS = 4
SHARING = 2  # the frame in which two requests share blocks for the first time
WIDE, HIGH = 2.1, 1.75  # of a block with its heading, in units of the scene
PLACE = 0.45  # width of a token
QUEUE_Y, TABLE_Y, EVENTS_Y = 6.15, 8.15, 11.45
ONE, SEVERAL, NEW, KEPT, BLANK = "cache", "communication", "new", "idle", "empty"
Row = dict[str, Any]


def blocks_stepped() -> StepFigure:
    """Twelve blocks and the tables that point to them, from the allocator's own log."""
    name = "allocator"
    log = StepLog(
        tuple(_frame(moment) for moment in moments()),
        {
            "places": lifetimes([_places(moment) for moment in moments()]),
            "counts": lifetimes([_counts(moment) for moment in moments()]),
            "queue": lifetimes([_queue(moment) for moment in moments()]),
            "front": lifetimes([_front(moment) for moment in moments()]),
            "events": _events(),
        },
    )
    return StepFigure(
        name="paged-blocks",
        title="Blocks lie anywhere; two tables that name the same block share it",
        scene=Scene(
            x=SceneAxis((0, WIDE * COLUMNS), shown=False),
            y=SceneAxis((EVENTS_Y + 0.5, -0.1), shown=False),
            marks=(
                Cells(table="blanks", x2="x2", y2="y2"),
                Cells(table="places", x2="x2", y2="y2", text="text"),
                Labels(table="counts", ink="ink-text", align="right"),
                Cells(table="queue", x2="x2", y2="y2", text="text"),
                Cells(table="front", x2="x2", y2="y2", text="text"),
                Labels(table="headings", ink="ink-text", align="left"),
                Labels(table="events", ink="ink-text", align="left"),
            ),
            fixed={"blanks": _blanks(), "headings": _headings()},
            height=372,
            width=560,
        ),
        logs={name: log},
        start=SHARING,
        stills=((name, 2), (name, 4), (name, 6)),
        legend={
            ONE: "one table points here",
            SEVERAL: "several do (shared)",
            NEW: "written in this step",
            KEPT: "free, contents kept",
            BLANK: "free and blank",
        },
        counters=(
            Counter("free blocks"),
            Counter("blocks copied so far"),
            Counter("evicted so far"),
        ),
    )


def _entry_ink(moment: MemoryStep, block: int) -> str:
    """As the block's own squares: orange where this step wrote into it."""
    fresh = any(at == block for at, _ in moment.written)
    return NEW if fresh else _ink(moment, block)


def _corner(block: int) -> tuple[float, float]:
    """Left and upper edge of a block in memory."""
    return WIDE * (block % COLUMNS), HIGH * (block // COLUMNS)


def _ink(moment: MemoryStep, block: int) -> str:
    users = moment.users(block)
    if not users:
        return KEPT if block in moment.kept else BLANK
    return SEVERAL if len(users) > 1 else ONE


def _place(block: int, place: int) -> Row:
    """The square of a token in a block."""
    x, y = _corner(block)
    at = x + 0.03 + place * PLACE
    return _rounded({"x": at, "x2": at + 0.43, "y": y + 0.6, "y2": y + 1.45})


def _rounded(row: Row) -> Row:
    return {k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()}


def _blanks() -> list[Row]:
    """Every block, with nothing in it."""
    ends = [(_place(block, 0), _place(block, SIZE - 1)) for block in range(BLOCKS)]
    return [{**first, "x2": last["x2"], "ink": BLANK} for first, last in ends]


def _places(moment: MemoryStep) -> dict[tuple[int, int], Row]:
    """Every token that is held: its id in the ink of its block."""
    return {
        (block, place): {
            **_place(block, place),
            "ink": NEW if (block, place) in moment.written else _ink(moment, block),
            "text": "" if _ink(moment, block) == KEPT else str(token),
        }
        for block, tokens in moment.contents.items()
        for place, token in enumerate(tokens)
    }


def _shields(moment: MemoryStep) -> dict[tuple[object, ...], Row]:
    """Plain ground below the letters of hatched cells, where they can be read."""
    found: dict[tuple[object, ...], Row] = {
        ("place", block, place): _shield(_place(block, place), token)
        for block in moment.kept
        for place, token in enumerate(moment.contents[block])
    }
    queued = _queue(moment)
    return found | {
        ("queue", block, 0): _shield(queued[block], block) for block in moment.kept
    }


def _front(moment: MemoryStep) -> dict[tuple[object, ...], Row]:
    """What is drawn last: rows of the tables, and the ground of kept letters."""
    return _entries(moment) | _shields(moment)


def _shield(cell: Row, number: int) -> Row:
    """The middle of a cell, with a number."""
    x, half = (cell["x"] + cell["x2"]) / 2, 0.13 if number < 10 else 0.2
    edges = {"x": x - half, "x2": x + half, "y": cell["y"] + 0.14}
    return _rounded(
        {**edges, "y2": cell["y2"] - 0.14, "ink": BLANK, "text": str(number)}
    )


def _counts(moment: MemoryStep) -> dict[int, Row]:
    """The reference count of each block that holds something, and whose it is."""
    found = {}
    for block in moment.contents:
        x, y = _corner(block)
        users, author = moment.users(block), moment.authors.get(block)
        whose = f"({author})" if author else users
        text = f"{len(users)}×{whose}"
        row = {"x": x + 0.03 + SIZE * PLACE, "y": y + 0.35, "text": text}
        found[block] = _rounded(row)
    return found


def _queue(moment: MemoryStep) -> dict[int, Row]:
    """Free blocks from the left, the next to be taken first."""
    step = WIDE * COLUMNS / BLOCKS
    return {
        block: _rounded({
            "x": step * at + 0.03, "x2": step * (at + 1) - 0.03,
            "y": QUEUE_Y, "y2": QUEUE_Y + 0.8,
            "ink": _ink(moment, block),
            "text": "" if block in moment.kept else str(block),
        })
        for at, block in enumerate(moment.queue)
    }  # fmt: skip


def _headings() -> list[Row]:
    """The number of each block, and what the two rows below the blocks are."""
    corners = {block: _corner(block) for block in range(BLOCKS)}
    numbers = [
        _rounded({"x": x + 0.03, "y": y + 0.35, "text": str(block)})
        for block, (x, y) in corners.items()
    ]
    return [
        *numbers,
        {"x": 0.03, "y": QUEUE_Y - 0.4, "text": "free blocks, next to be taken first:"},
        {"x": 0.03, "y": TABLE_Y - 0.4, "text": "block tables:"},
    ]


def _entries(moment: MemoryStep) -> dict[tuple[object, ...], Row]:
    """Rows of the block tables: the numbers of the blocks, in the order of the text."""
    found: dict[tuple[object, ...], Row] = {}
    for lane, (name, table) in enumerate(sorted(moment.tables.items())):
        y = TABLE_Y + 0.9 * lane
        edges = _rounded({"y": y, "y2": y + 0.8})
        found[name, -1] = {
            **edges, "x": 0.03, "x2": 0.8, "ink": BLANK, "text": name
        }  # fmt: skip
        for place, block in enumerate(table):
            x = 1.0 + 0.9 * place
            found[name, place] = _rounded({
                **edges, "x": x, "x2": x + 0.8, "ink": _entry_ink(moment, block),
                "text": str(block),
            })  # fmt: skip
    return found


def _events() -> list[Row]:
    """What has just happened: each kind of event, with the blocks concerned."""
    rows: list[Row] = []
    for frame, moment in enumerate(moments()):
        kinds: dict[str, list[str]] = {}
        for event in moment.events:
            if event.kind == "released":
                continue
            alone = event.kind == "shared" and len(moment.users(event.block)) == 1
            copy = "" if event.source is None else f"{event.source} to "
            kind = "found again" if alone else event.kind
            kinds.setdefault(kind, []).append(f"{copy}{event.block}")
        text = "; ".join(f"{kind} {', '.join(at)}" for kind, at in kinds.items())
        row = {"x": 0.03, "y": EVENTS_Y, "text": text or "nothing taken or freed"}
        rows.append({**row, "since": frame, "until": frame + 1})
    return rows


def _frame(moment: MemoryStep) -> Frame:
    counters = (moment.free, moment.copies, moment.evictions)
    return Frame(moment.said, tuple(map(float, counters)))
