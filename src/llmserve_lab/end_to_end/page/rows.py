"""Attention of one row, stepped: lines from the keys, as wide as their weights."""

from __future__ import annotations

from typing import Any

from llmserve_lab.end_to_end.example import FEATURES, Example, example
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Links, Scene, SceneAxis

Row = dict[str, Any]
WIDEST = 26  # pixels of a line of weight 1


def attention_rows() -> StepFigure:
    """Each row of the sentence looks at itself and at the rows before it."""
    one = example()
    frames = tuple(_frame(one, i) for i in range(len(one.words)))
    scene = Scene(
        x=SceneAxis((0, len(one.words)), shown=False),
        y=SceneAxis((4.2, -0.6), shown=False),
        marks=(
            Links(table="lines", width="width", arrow=False),
            Cells(table="cells", y2="y2", text="text", opacity="faint"),
            Labels(table="names", align="left"),
            Labels(table="weights"),
        ),
        height=250,
        fixed={"names": _names()},
    )
    last = len(one.words) - 1
    return StepFigure(
        name="attention-rows",
        title="A row mixes what earlier rows pass on: the wider the line, the more",
        scene=scene,
        logs={"rows": StepLog(frames, _tables(one))},
        stills=(("rows", 1), ("rows", 2), ("rows", last)),
        start=last,
        legend={"new": "the row that looks", "cache": "rows that it may look at"},
        counters=tuple(Counter(f"receives {name}", digits=2) for name in FEATURES),
    )


def _tables(one: Example) -> dict[str, list[Row]]:
    rows = range(len(one.words))
    return {
        "lines": [line for i in rows for line in _lines(one, i)],
        "weights": [number for i in rows for number in _numbers(one, i)],
        "cells": _cells(one),
    }


def _numbers(one: Example, i: int) -> list[Row]:
    """The weights of row i, each below its key."""
    alive = {"since": i, "until": i + 1}
    return [
        {"x": j + 0.5, "y": 1.0, "text": f"{weight:.2f}", **alive}
        for j, weight in enumerate(one.weights[i, : i + 1])
    ]


def _names() -> list[Row]:
    return [
        {"x": 0.03, "y": -0.3, "text": "keys and values, with weights below"},
        {"x": 0.03, "y": 4.0, "text": "query of this row"},
    ]


def _cells(one: Example) -> list[Row]:
    """Words above, as keys and values; below, the one whose query looks."""
    found: list[Row] = []
    for j, word in enumerate(one.words):
        text = word.strip()
        above = {"x": j, "y": 0, "y2": 0.7, "text": text}
        found.append({**above, "ink": "empty", "faint": 0.8, "until": j})
        found.append({**above, "ink": "cache", "faint": 1.0, "since": j})
        below = {"x": j, "y": 3, "y2": 3.7, "text": text, "ink": "new", "faint": 1.0}
        found.append({**below, "since": j, "until": j + 1})
    return found


def _lines(one: Example, i: int) -> list[Row]:
    """Lines from the keys that row i sees, down to its query."""
    return [
        {
            **{"x": j + 0.5, "y": 1.3, "x2": i + 0.5, "y2": 3.0, "ink": "cache"},
            "width": round(WIDEST * float(weight), 1),
            **{"since": i, "until": i + 1},
        }
        for j, weight in enumerate(one.weights[i, : i + 1])
    ]


def _frame(one: Example, i: int) -> Frame:
    seen = one.weights[i, : i + 1]
    word, most = one.words[i].strip(), int(seen.argmax())
    if i == 0:
        said = f"“{word}” is the first row: it can look only at itself."
    else:
        said = (
            f"“{word}” (row {i + 1}) looks most at “{one.words[most].strip()}”, "
            f"with weight {seen[most]:.2f}. Later words are hidden from it."
        )
    return Frame(said, tuple(float(x) for x in one.mixed[i]))
