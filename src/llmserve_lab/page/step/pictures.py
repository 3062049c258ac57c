"""Scenes that step figures share, and rows for them: grids, lanes, rings, matrices.

Each scene names the tables that it reads and the fields of their rows; the rows come
from the log of something that ran.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llmserve_lab.page.step.marks import (
    Cells,
    Labels,
    Links,
    Mark,
    Nodes,
    Scene,
    SceneAxis,
    Ticks,
)

ROW_PX = 44  # of one slot or lane
Row = dict[str, Any]


def slot_grid(
    slots: Sequence[str],
    until: float,
    *,
    title: str = "iteration",
    row_px: int = ROW_PX,
) -> Scene:
    """Slots against iterations: the batch, filled from left to right as time goes on.

    Table ``cells``: ``slot``, ``start``, ``end`` (iterations), ``ink``, ``text``. A
    cell that spans several iterations is drawn as far as the frame's ``now``.
    """
    cells = Cells(table="cells", x="start", x2="end", y="slot", text="text", grows=True)
    return Scene(
        x=SceneAxis((0, until), title),
        y=SceneAxis(tuple(slots)),
        marks=(cells,),
        height=row_px * len(slots),
        now=True,
    )


def lanes(
    names: Sequence[str], until: float, *, title: str = "time (s)", row_px: int = ROW_PX
) -> Scene:
    """A lane of time for each request: spans of waiting and prefill, a tick a token.

    Table ``spans``: ``lane``, ``start``, ``end``, ``ink``, ``text``; table ``tokens``:
    ``lane``, ``at``, ``ink``. A freeze shows as a hole between two ticks.
    """
    spans = Cells(table="spans", x="start", x2="end", y="lane", text="text", grows=True)
    ticks = Ticks(table="tokens", x="at", y="lane", grows=True)
    return Scene(
        x=SceneAxis((0, until), title),
        y=SceneAxis(tuple(names)),
        marks=(spans, ticks),
        height=row_px * len(names),
        now=True,
    )


def matrix(
    rows: int, columns: int, *, across: str = "", down: str = "", cell_px: int = 30
) -> Scene:
    """A matrix from its upper left corner: numbers, a mask, or blocks of memory.

    Table ``cells``: ``column``, ``row`` (from 0), ``ink``, ``text``, and ``opacity``
    where it is given; table ``words``: ``x``, ``y``, ``text``, for what stands beside
    or between several matrices (``A``, ``×``).
    """
    cells = Cells(table="cells", x="column", y="row", text="text", opacity="opacity")
    return Scene(
        x=SceneAxis((0, columns), across, shown=bool(across)),
        y=SceneAxis((rows, 0), down, shown=bool(down)),
        marks=(cells, Labels(table="words")),
        height=max(cell_px * rows, 2 * cell_px),
        width=cell_px * columns + 70,
    )


def places(count: int, columns: int) -> list[Row]:
    """``column`` and ``row`` of so many blocks, laid out line by line."""
    return [{"column": i % columns, "row": i // columns} for i in range(count)]


def ring(names: Sequence[str], *, height: int = 300, ink: str = "other") -> Scene:
    """Nodes on a circle with messages between them: GPUs in a collective.

    Table ``messages``: rows of :func:`message`; table ``words``: ``x``, ``y``,
    ``text``, placed by :func:`beside`.
    """
    where = around(names)
    nodes = [{"x": x, "y": y, "text": n, "ink": ink} for n, (x, y) in where.items()]
    return graph({"nodes": nodes}, height=height)


def graph(fixed: Mapping[str, list[Row]], *, height: int = 300) -> Scene:
    """Nodes at places between 0 and 1, with messages and words.

    Tables ``messages`` (``x``, ``y``, ``x2``, ``y2``, ``ink``, ``text``), ``nodes``
    (``x``, ``y``, ``text``, ``ink``) and ``words`` (``x``, ``y``, ``text``).
    """
    marks: tuple[Mark, ...] = (
        Links(table="messages", text="text"),
        Nodes(table="nodes"),
        Labels(table="words"),
    )
    side = SceneAxis((-0.15, 1.15), shown=False)
    return Scene(
        x=side, y=side, marks=marks, height=height, fixed=dict(fixed), width=2 * height
    )


def around(names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Places on a circle, clockwise from the top."""
    turn = 2 * math.pi / len(names)
    return {
        name: (0.5 + 0.45 * math.sin(i * turn), 0.5 + 0.45 * math.cos(i * turn))
        for i, name in enumerate(names)
    }


def message(
    where: Mapping[str, tuple[float, float]], source: str, target: str, **row: Any
) -> Row:
    """A row of ``messages`` from one node to another; ``row`` adds fields."""
    (x, y), (x2, y2) = where[source], where[target]
    return {"x": x, "y": y, "x2": x2, "y2": y2, "ink": "communication", **row}


def lifetimes(snapshots: Iterable[Mapping[Any, Row]]) -> list[Row]:
    """Rows with ``since`` and ``until`` from what is there in each frame, by key.

    A row that stays the same from frame to frame is stored once.
    """
    found: list[Row] = []
    open_: dict[Any, Row] = {}
    for frame, there in enumerate(snapshots):
        for key in [k for k, row in open_.items() if _content(row) != there.get(k)]:
            open_.pop(key)["until"] = frame
        for key, row in there.items():
            if key not in open_:
                open_[key] = {**row, "since": frame}
                found.append(open_[key])
    return found


def _content(row: Row) -> Row:
    """The row without its lifetime."""
    return {k: v for k, v in row.items() if k not in ("since", "until")}
