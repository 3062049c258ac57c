"""Rotary positions, stepped: the angle between a query and a key as both move."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Labels, Links, Nodes, Scene, SceneAxis
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rope import rotate

Row = dict[str, Any]
LOGS = {"key at position 1": 1, "key at position 4": 4}
DISTANCES = tuple(range(6))
START = 30.0  # degrees from the key to the query before either is turned
STEP = float(np.degrees(1.0))  # the first pair of numbers turns a radian a position
TABLES = ("arc", "arrows", "tips", "names", "left", "right")
SIDES = 36  # of the polygon that stands for the circle


def turn() -> StepFigure:
    """A key that stays and a query that moves on, both turned by their positions."""
    first, second = LOGS
    return StepFigure(
        name="rope",
        title="Equal distance, equal angle",
        scene=Scene(
            x=SceneAxis((-1.6, 1.6), shown=False),
            y=SceneAxis((-1.22, 1.22), shown=False),
            marks=(
                Links(table="circle", width="width", arrow=False),
                Links(table="arc", width="width", arrow=False),
                Links(table="arrows", arrow=False),
                Nodes(table="tips", size=110),
                Labels(table="names"),
                Labels(table="left", align="right"),
                Labels(table="right", align="left"),
            ),
            height=238,
            width=312,
            fixed={"circle": _bow(0.0, 360.0, lambda _turned: 1.0, "empty")},
        ),
        logs={name: _log(key_at) for name, key_at in LOGS.items()},
        stills=((first, 2), (second, 2), (first, 1)),
        start=2,
        legend={"cache": "key", "new": "query", "other": "angle between them"},
        counters=(
            Counter("start + distance × 1 radian"),
            Counter("score, the product of both"),
        ),
    )


def arrow(start: float, position: int) -> Array:
    """An arrow [2] of length 1 at ``start`` degrees, turned as RoPE does."""
    way = np.array([[[np.cos(np.radians(start)), np.sin(np.radians(start))]]])
    return np.asarray(rotate(way, np.array([position]))[0, 0])


def _log(key_at: int) -> StepLog:
    frames, tables = list[Frame](), {name: list[Row]() for name in TABLES}
    for distance in DISTANCES:
        alive = {"since": distance, "until": distance + 1}
        key, query = arrow(0.0, key_at), arrow(START, key_at + distance)
        angle, score = START + distance * STEP, float(key @ query)
        for rows in (_arrows(key, query, key_at, distance), _arc(key_at, angle)):
            for name, found in rows.items():
                tables[name] += [row | alive for row in found]
        frames.append(_frame(key_at, distance, angle, score))
    return StepLog(tuple(frames), tables)


def _frame(key_at: int, distance: int, angle: float, score: float) -> Frame:
    query_at, product = key_at + distance, f"{score:.2f}".replace("-", "−")
    said = (
        f"Key at position {key_at}, query at position {query_at}: {angle:.1f}° between "
        f"them, and the score is {product}."
    )
    sum_ = f"{START:.0f}° + {distance} × {STEP:.1f}° = {angle:.1f}°"
    return Frame(said, (sum_, product))


def _arrows(key: Array, query: Array, key_at: int, distance: int) -> dict[str, Any]:
    """Both arrows, their tips, and what they are called."""
    ends = {
        "cache": (key, f"key {key_at}"),
        "new": (query, f"query {key_at + distance}"),
    }
    centre = {"x": 0, "y": 0}
    places = {
        ink: {"x": round(float(at[0]), 3), "y": round(float(at[1]), 3)}
        for ink, (at, _) in ends.items()
    }
    return {
        "arrows": [
            {**centre, "x2": at["x"], "y2": at["y"], "ink": ink}
            for ink, at in places.items()
        ],
        "tips": [{**at, "ink": ink, "text": ""} for ink, at in places.items()],
        **{
            side: [
                {"x": 1.1 * at["x"], "y": 1.12 * at["y"], "text": ends[ink][1]}
                for ink, at in places.items()
                if (at["x"] >= 0) == (side == "right")
            ]
            for side in ("left", "right")
        },
    }


def _arc(key_at: int, angle: float) -> dict[str, Any]:
    """The way from the key round to the query, and the angle beside its middle."""
    start = key_at * STEP
    middle = np.radians(start + angle / 2)
    label = {"x": 0.74 * np.cos(middle), "y": 0.74 * np.sin(middle)}
    text = {name: round(float(at), 3) for name, at in label.items()}
    return {
        "arc": _bow(start, start + angle, lambda turned: 0.4 + turned / 4000, "other"),
        "names": [{**text, "text": f"{angle:.1f}°"}],
    }


def _bow(start: float, end: float, radius: Any, ink: str) -> list[Row]:
    """A bow in short strokes; it may wind outwards."""
    count = max(2, round(SIDES * (end - start) / 360))
    turned = np.linspace(0, end - start, count + 1)
    radii = np.array([radius(each) for each in turned])
    x, y = (
        (radii * way(np.radians(start + turned))).round(3).tolist()
        for way in (np.cos, np.sin)
    )
    look = {"ink": ink, "width": 2}
    return [
        {"x": x[i], "y": y[i], "x2": x[i + 1], "y2": y[i + 1], **look}
        for i in range(count)
    ]
