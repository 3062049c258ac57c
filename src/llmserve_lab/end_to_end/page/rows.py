"""Attention of one row, stepped: lines from the keys, as wide as their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from llmserve_lab.end_to_end.attention import softmax
from llmserve_lab.end_to_end.example import FEATURES, Example, example
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Links, Scene, SceneAxis
from llmserve_lab.transformer.arithmetic import Array

Row = dict[str, Any]
WIDEST = 14  # pixels of a line of weight 1


@dataclass(frozen=True)
class Looking:
    """One way to attend: with a part of it left out, or with positions."""

    masked: bool = True
    divided: bool = True
    turned: bool = False

    def weights(self) -> Array:
        """How much each row of the sentence looks at each one [n, n]."""
        return self.of(example())

    def of(self, one: Example) -> Array:
        """How much each row of a text looks at each one [n, n]."""
        one = one.turned if self.turned else one
        scores = one.products / (np.sqrt(one.key.shape[-1]) if self.divided else 1)
        if self.masked:
            scores[np.triu(np.ones(scores.shape, dtype=bool), 1)] = -np.inf
        return softmax(scores)

    def seen(self, row: int) -> int:
        """How many of the words a row may look at."""
        return row + 1 if self.masked else len(example().words)


WAYS = {
    "as by hand": Looking(),
    "no mask": Looking(masked=False),
    "no division": Looking(divided=False),
    "with RoPE": Looking(turned=True),
}


def attention_rows() -> StepFigure:
    """Each row of the sentence looks at itself and at the rows before it."""
    one, first = example(), next(iter(WAYS))
    last = len(one.words) - 1
    return StepFigure(
        name="attention-rows",
        title="A row mixes the values it looks at",
        scene=Scene(
            x=SceneAxis((0, len(one.words)), shown=False),
            y=SceneAxis((4.2, -0.6), shown=False),
            marks=(
                Links(table="lines", width="width", arrow=False),
                Cells(table="cells", y2="y2", text="text", opacity="faint"),
                Labels(table="names", align="left"),
                Labels(table="weights"),
            ),
            height=180,
            fixed={"names": _names()},
        ),
        logs={name: _log(one, way) for name, way in WAYS.items()},
        stills=((first, 1), (first, 2), (first, last)),
        start=one.words.index(" dog"),
        legend={"new": "the row that looks", "cache": "rows that it may look at"},
        counters=tuple(Counter(f"receives {name}") for name in FEATURES),
    )


def _log(one: Example, way: Looking) -> StepLog:
    weights, rows = way.weights(), range(len(one.words))
    frames = tuple(_frame(one, way, i) for i in rows)
    tables = {
        "lines": [line for i in rows for line in _lines(weights, i, way.seen(i))],
        "weights": [text for i in rows for text in _numbers(weights, i, way.seen(i))],
        "cells": [cell for i in rows for cell in _cells(one, i, way.seen(i))],
    }
    return StepLog(frames, tables)


def _numbers(weights: Array, i: int, seen: int) -> list[Row]:
    """The weights of row i, each below its key; and what the box below them is."""
    found = [
        {"x": j + 0.5, "y": 1.0, "text": f"{weights[i, j]:.2f}", **_alive(i)}
        for j in range(seen)
    ]
    return [*found, {"x": i + 0.5, "y": 4.0, "text": "its query", **_alive(i)}]


def _alive(i: int) -> Row:
    return {"since": i, "until": i + 1}


def _names() -> list[Row]:
    return [
        {
            "x": 0.03,
            "y": -0.3,
            "text": "keys and values; weights below, rounded",
        },
    ]


def _cells(one: Example, i: int, seen: int) -> list[Row]:
    """Words above, as keys and values; below, the one whose query looks."""
    found = [
        {
            **{"x": j, "y": 0, "y2": 0.7, "text": word.strip(), **_alive(i)},
            **{"ink": "cache" if j < seen else "empty"},
            **{"faint": 1.0 if j < seen else 0.8},
        }
        for j, word in enumerate(one.words)
    ]
    below = {"x": i, "y": 3, "y2": 3.7, "text": one.words[i].strip(), **_alive(i)}
    return [*found, {**below, "ink": "new", "faint": 1.0}]


def _lines(weights: Array, i: int, seen: int) -> list[Row]:
    """Lines from the keys that row i sees, down to its query, each at its share."""
    ends = np.cumsum(weights[i]) - weights[i] / 2  # as in a bar of shares
    return [
        {
            **{"x": j + 0.5, "y": 1.45, "y2": 3.0, "ink": "cache", **_alive(i)},
            "x2": round(i + float(ends[j]), 3),
            "width": round(WIDEST * float(weights[i, j]), 1),
        }
        for j in range(seen)
    ]


def _frame(one: Example, way: Looking, i: int) -> Frame:
    weights = way.weights()[i]
    word, most = one.words[i].strip(), int(weights.argmax())
    looks = (
        f"looks most at “{one.words[most].strip()}”, with weight {weights[most]:.2f}"
    )
    if np.ptp(weights[: way.seen(i)]) == 0:
        looks = f"looks at all words alike, with weight {weights[most]:.2f}"
    later = len(one.words) - way.seen(i)
    hidden = (
        "Later words are hidden from it." if later else "No word is hidden from it."
    )
    said = f"“{word}” (row {i + 1}) {looks}. {hidden}"
    if way.seen(i) == 1:
        said = f"“{word}” is the first row: it can look only at itself."
    return Frame(said, tuple(f"{x:.2f}" for x in weights @ one.value))
