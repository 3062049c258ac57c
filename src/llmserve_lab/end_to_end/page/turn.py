"""Rotary positions, stepped: the angle between a query and a key as both move."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Labels, Links, Nodes, Scene, SceneAxis
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rope import rotate

Row = dict[str, Any]
DIALS = {1: 0.0, 4: 3.0}  # position of the key, and where its dial stands
DISTANCES = tuple(range(5))
STEP = float(np.degrees(1.0))  # the first pair of numbers turns a radian a position
START = -STEP  # from the key to the query before either is turned: a position back
TABLES = ("arc", "arrows", "tips", "names")
SIDES = 24  # of the polygon that stands for the circle


def turn() -> StepFigure:
    """A key that stays and a query that moves on, on a dial for each of two keys."""
    circles = [row for at in DIALS.values() for row in _circle(at)]
    return StepFigure(
        name="rope",
        title="Equal distance, equal angle",
        scene=Scene(
            x=SceneAxis((-1.45, 4.45), shown=False),
            y=SceneAxis((-1.95, 1.3), shown=False),
            marks=(
                Links(table="circle", width="width", arrow=False),
                Links(table="arc", width="width", arrow=False),
                Links(table="arrows", arrow=False),
                Nodes(table="tips", size=60),
                Labels(table="names"),
            ),
            height=175,
            width=318,
            fixed={"circle": circles},
        ),
        logs={"both": _log()},
        stills=tuple(("both", distance) for distance in (0, 1, 3)),
        start=3,
        legend={"cache": "key", "new": "query", "other": "angle between them"},
        counters=(
            Counter("angle: start + distance × speed"),
            Counter("score, the product of both"),
        ),
    )


def arrow(start: float, position: int) -> Array:
    """An arrow [2] of length 1 at ``start`` degrees, turned as RoPE does."""
    way = np.array([[[np.cos(np.radians(start)), np.sin(np.radians(start))]]])
    return np.asarray(rotate(way, np.array([position]))[0, 0])


def _log() -> StepLog:
    frames, tables = list[Frame](), {name: list[Row]() for name in TABLES}
    for distance in DISTANCES:
        alive = {"since": distance, "until": distance + 1}
        angle = START + distance * STEP
        for key_at, across in DIALS.items():
            key, query = arrow(0.0, key_at), arrow(START, key_at + distance)
            found = _arrows(key, query, key_at, distance) | _arc(key_at, angle)
            for name, rows in found.items():
                tables[name] += [_beside(row, across) | alive for row in rows]
        frames.append(_frame(distance, angle, float(key @ query)))
    return StepLog(tuple(frames), tables)


def _beside(row: Row, across: float) -> Row:
    """The same mark on a dial that stands further to the right."""
    return row | {way: round(row[way] + across, 3) for way in ("x", "x2") if way in row}


def _circle(across: float) -> list[Row]:
    return [_beside(row, across) for row in _bow(0.0, 360.0, "empty")]


def _frame(distance: int, angle: float, score: float) -> Frame:
    product = f"{score:.2f}".replace("-", "−")
    shown = f"{abs(angle):.1f}°"
    keys = " and ".join(f"{key_at}" for key_at in DIALS)
    queries = " and ".join(f"{key_at + distance}" for key_at in DIALS)
    said = (
        f"Keys at positions {keys}, queries at {queries}: on either dial the arrows "
        f"stand {shown} apart, and the score is {product}."
    )
    sum_ = f"{START:.1f}° + {distance} × {STEP:.1f}° = {angle:.1f}°"
    return Frame(said, (sum_.replace("-", "−").replace("−0.0°", "0.0°"), product))


def _arrows(key: Array, query: Array, key_at: int, distance: int) -> dict[str, Any]:
    """Both arrows, their tips, their positions beside them and below the dial."""
    ends = {"cache": (key, key_at), "new": (query, key_at + distance)}
    places = {
        ink: {"x": round(float(at[0]), 3), "y": round(float(at[1]), 3)}
        for ink, (at, _) in ends.items()
    }
    beside = [
        {"x": 1.2 * at["x"], "y": 1.2 * at["y"], "text": f"{ends[ink][1]}"}
        for ink, at in places.items()
    ]
    says = f"key at {key_at}, query at {key_at + distance}"
    below = {"x": 0, "y": -1.5, "text": says}
    sense = {"x": 0, "y": -1.82, "text": "↺ both turn this way"}
    return {
        "arrows": [
            {"x": 0, "y": 0, "x2": at["x"], "y2": at["y"], "ink": ink}
            for ink, at in places.items()
        ],
        "tips": [{**at, "ink": ink, "text": ""} for ink, at in places.items()],
        "names": [*beside, below, sense],
    }


def _arc(key_at: int, angle: float) -> dict[str, Any]:
    """The way from the key round to the query."""
    start = key_at * STEP
    return {"arc": _bow(start, start + angle, "other", radius=0.4)}


def _bow(start: float, end: float, ink: str, radius: float = 1.0) -> list[Row]:
    """A bow in short strokes."""
    count = max(2, round(SIDES * abs(end - start) / 360))
    turned = np.radians(np.linspace(start, end, count + 1))
    x, y = ((radius * way(turned)).round(3).tolist() for way in (np.cos, np.sin))
    look = {"ink": ink, "width": 2}
    return [
        {"x": x[i], "y": y[i], "x2": x[i + 1], "y2": y[i + 1], **look}
        for i in range(count)
    ]
