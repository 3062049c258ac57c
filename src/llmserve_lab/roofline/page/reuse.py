"""Matrix times vector, and matrix times matrix, tile by tile: what waits for what.

The product ran on metered tiles; a toy GPU, whose ridge is four rows, takes its log.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.page.step.pictures import lifetimes
from llmserve_lab.roofline.tiles import (
    Busy,
    TiledWeights,
    example_rows,
    example_weights,
    multiply,
    timeline,
)

Row = dict[str, Any]
RIDGE = 4  # products of a row and a tile while the next tile is fetched
BATCHES = {"1 row": 1, "2 rows": 2, "4 rows": 4, "8 rows": 8}
COMPARED = {1: RIDGE, 2: 1, RIDGE: 1, 8: RIDGE}  # rows, and those drawn beside them
UNTIL = 35.0  # ticks on the axis
PIECES = 4  # of a row, and tiles along a side of the weights
ROWS_AT, TILES_AT, RESULT_AT, WIDE = 0.5, 12.5, 24.5, 2.0
LANES = {"fetched": 7.3, "computed": 9.6}  # where the lanes begin, from the top
BESIDE = {"fetched": 12.0, "computed": 12.95}  # those of another number of rows
HIGH, LOW = 1.1, 0.85  # of a lane, and of one of another number of rows
BOTTOM = 14.0
SIGNS = 1.75  # where × and = stand: beside the first row


def reuse() -> StepFigure:
    """The tiles of the weights in their order, for one row and for several."""
    first = next(iter(BATCHES))
    last = PIECES**2 - 1
    return StepFigure(
        name="tile-reuse",
        title="Four rows take hardly longer than one: each tile read serves every row",
        scene=Scene(
            x=SceneAxis((0, UNTIL), "time (ticks; reading a tile takes one)"),
            y=SceneAxis((BOTTOM, 0), shown=False),
            marks=(
                Cells(table="cells", x2="x2", y2="y2", opacity="faint"),
                Cells(table="idle", x2="x2", y2="y2", grows=True),
                Cells(table="lanes", x2="x2", y2="y2", grows=True),
                Labels(table="words", align="left"),
            ),
            height=320,
            fixed={"words": _words()},
        ),
        logs={name: _log(count) for name, count in BATCHES.items()},
        start=last,
        stills=((first, last), ("4 rows", last), ("8 rows", last)),
        legend={
            "weights": "weights",
            "new": "input rows",
            "compute": "result (pale: not yet complete), computing",
            "idle": "waiting",
        },
        counters=(
            Counter("tiles used"),
            Counter("ticks per row, so far"),
            Counter("tensor cores busy"),
        ),
        goal=Goal(
            "find the smallest number of rows with which the tensor cores are busy "
            "nine tenths of the time, and step to the end",
            lambda log, frame: (log > 1) & (log < 3) & (frame >= last),
            {"log": "4 rows", "frame": last},
        ),
    )


def run(count: int) -> tuple[TiledWeights, list[Busy], list[Busy]]:
    """The product of ``count`` rows, and when each tile was fetched and multiplied."""
    taken = example_weights()
    multiply(example_rows(count), taken)
    return taken, *timeline(taken.log, per_tile=RIDGE)


def busy(computed: list[Busy], until: float) -> float:
    """Share of the time in which the tensor cores computed."""
    return sum(each.end - each.start for each in computed if each.end <= until) / until


def _words() -> list[Row]:
    places = {
        "rows": (ROWS_AT, 0.6),
        "×": (ROWS_AT + 4 * WIDE + 1.3, SIGNS),
        "weights": (TILES_AT, 0.6),
        "=": (TILES_AT + 4 * WIDE + 1.3, SIGNS),
        "result": (RESULT_AT, 0.6),
        "memory reads": (0.0, LANES["fetched"] - 0.6),
        "tensor cores compute": (0.0, LANES["computed"] - 0.6),
    }
    return [{"x": x, "y": y, "text": text} for text, (x, y) in places.items()]


def _log(count: int) -> StepLog:
    """A frame for each tile, when all rows have been multiplied with it."""
    taken, fetched, computed = run(count)
    frames = list[Frame]()
    cells = lifetimes(_product(n, taken.places, count) for n in range(len(computed)))
    for number, each in enumerate(computed):
        share = busy(computed, each.end)
        frames.append(
            Frame(
                _sentence(number + 1, count, each.end),
                (float(number + 1), f"{each.end / count:.2f}", f"{share:.0%}"),
                at=each.end,
            )
        )
    other, words = _beside(COMPARED[count])
    tables = {"cells": [*cells, *other], "words": words}
    return StepLog(tuple(frames), tables | _lanes(fetched, computed))


def _sentence(done: int, count: int, ticks: float) -> str:
    tiles = "tile" if done == 1 else "tiles"
    rows = "row" if count == 1 else "rows"
    return f"{ticks:.2f} ticks: {done} {tiles} used for {count} {rows}."


def _product(frame: int, places: list[tuple[int, int]], count: int) -> dict[Any, Row]:
    """Rows, weights and result while tile ``frame`` is the one in use, by place."""
    i, j = places[frame]
    found: dict[Any, Row] = {}
    for number, place in enumerate(places):
        used = number <= frame
        faint = 1.0 if number == frame or not used else 0.4
        ink = "weights" if used else "empty"
        found["tile", place] = {"ink": ink, "faint": faint} | _tile(*place)
    high = 5.0 / max(count, PIECES)
    found |= _pale(count, high)
    for n in range(count):
        at = {"y": round(1.1 + n * high, 4), "y2": round(1.1 + (n + 1) * high, 4)}
        found["piece", n] = {"ink": "new", "faint": 1.0} | at | _across(ROWS_AT, i)
        for piece in range(PIECES):
            sums = i + (piece <= j)  # products that have been added up here
            faint = 1.0 if sums in (0, PIECES) else 0.4
            ink = "compute" if sums else "empty"
            new = {"ink": ink, "faint": faint} | at
            found["result", n, piece] = new | _across(RESULT_AT, piece)
    return found


def _pale(count: int, high: float) -> dict[Any, Row]:
    """The rows in their pieces."""
    return {
        ("row", n, piece): {"ink": "new", "faint": 0.3}
        | {"y": round(1.1 + n * high, 4), "y2": round(1.1 + (n + 1) * high, 4)}
        | _across(ROWS_AT, piece)
        for n in range(count)
        for piece in range(PIECES)
    }


def _across(left: float, piece: int) -> Row:
    return {"x": left + WIDE * piece, "x2": left + WIDE * (piece + 1)}


def _tile(i: int, j: int) -> Row:
    return _across(TILES_AT, j) | {"y": 1.1 + 1.25 * i, "y2": 1.1 + 1.25 * (i + 1)}


def _lanes(fetched: list[Busy], computed: list[Busy]) -> dict[str, list[Row]]:
    """Both units over time: what is not covered by work is waiting."""
    lanes, idle = _spans(fetched, computed, LANES, HIGH)
    return {"lanes": lanes, "idle": idle}


def _beside(count: int) -> tuple[list[Row], list[Row]]:
    """The whole time of another number of rows, to compare with."""
    _, fetched, computed = run(count)
    lanes, idle = _spans(_joined(fetched), _joined(computed), BESIDE, LOW)
    rows = "1 row takes" if count == 1 else f"{count} rows take"
    text = f"{rows} {computed[-1].end:.2f} ticks"
    at = {"x": 0.0, "y": BESIDE["fetched"] - 0.6}
    return [{**row, "faint": 1.0} for row in [*idle, *lanes]], [at | {"text": text}]


def _joined(spans: list[Busy]) -> list[Busy]:
    """Work without a pause in between, as one."""
    found = list[Busy]()
    for each in spans:
        if found and found[-1].end == each.start:
            found[-1] = replace(found[-1], end=each.end)
        else:
            found.append(each)
    return found


def _spans(
    fetched: list[Busy], computed: list[Busy], top: dict[str, float], high: float
) -> tuple[list[Row], list[Row]]:
    """Rectangles of what both units do, and of the whole time under them."""
    lanes, idle = list[Row](), list[Row]()
    inks = {"fetched": ("weights", fetched), "computed": ("compute", computed)}
    for lane, (ink, spans) in inks.items():
        at = {"y": top[lane], "y2": round(top[lane] + high, 4)}
        idle.append(at | {"x": 0.0, "x2": computed[-1].end, "ink": "idle"})
        lanes += [at | {"x": s.start, "x2": s.end, "ink": ink} for s in spans]
    return lanes, idle
