"""Step figure: a cache forgets tokens, by their place or by the attention they got."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.quantization import eviction
from llmserve_lab.quantization.page.steps import WIDTH, Row
from llmserve_lab.quantization.schemes import relative_error

PLACES, COLUMNS, KEEP, SINKS = 48, 16, 16, 4
STRIP = 0.3  # of a forgotten token's cell: what it was
NUMBERS = 6  # of the output that are drawn
TALLEST = 2.0  # times the largest number with all tokens: longer bars are cut off
BARS = "output of the head"
LEVEL, REACH = 4.55, 0.95  # of the output's bars: their zero, and the longest


@cache
def small_head() -> eviction.Head:
    """The synthetic head with few tokens, so that each can be drawn."""
    return eviction.synthetic_head(PLACES, seed=2, num_facts=3, observing=4)


def forgetting() -> StepFigure:
    """Three choices of the tokens to keep, beside the attention each of them gets."""
    head = small_head()
    kept = eviction.kept_by(head, KEEP, sinks=SINKS)
    names = list(kept)
    return StepFigure(
        name="forgetting",
        title="Which tokens stay in the cache decides what the answer can use",
        scene=Scene(
            x=SceneAxis((0, COLUMNS), shown=False),
            y=SceneAxis((LEVEL + REACH, 0), shown=False),
            marks=(
                Cells(table="cells", x2="x2", y2="y2", text="text"),
                Cells(table="bars", x2="x2", y2="y2"),
                Labels(table="names", align="left"),
            ),
            height=230,
            width=620,
            fixed={"names": [{"x": 0, "y": PLACES // COLUMNS + 0.3, "text": BARS}]},
        ),
        logs={name: _forgetting_log(head, name, kept[name]) for name in names},
        stills=tuple((name, 2) for name in names),
        legend={
            "cache": "token in the cache; its attention in %, none written below 0.5",
            "communication": "fact that the question is about",
            "new": "sink: first token, much attention, small value",
            "idle": "forgotten (a strip shows what it was)",
            "other": "output with all tokens",
            "compute": f"output now ({NUMBERS} of its numbers; long bars are cut off)",
        },
        counters=(
            Counter("tokens kept"),
            Counter("attention kept"),
            Counter("error of the output"),
        ),
        start=2,
    )


def _percent(weight: float) -> str:
    """Attention in whole percent; of less than half of one, nothing."""
    return f"{100 * weight:.0f}" if weight >= 0.005 else ""


def _again(weights: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Attention after the others are forgotten: what is left adds up to one again."""
    left = np.zeros_like(weights)
    left[kept] = weights[kept] / weights[kept].sum()
    return left


def _cells(head: eviction.Head, kept: np.ndarray) -> list[Row]:
    """The tokens; from frame 1 the forgotten ones, from frame 2 the new attention."""
    weights = head.weights()[-1]
    again, stays = _again(weights, kept), set(kept.tolist())
    cells = []
    for place, weight in enumerate(weights):
        x, y = place % COLUMNS, place // COLUMNS
        ink = "communication" if place in head.facts else "cache"
        ink = "new" if place == 0 else ink
        box: Row = {"x": x, "x2": x + WIDTH, "y": y, "y2": y + 1, "text": ""}
        known = box | {"ink": ink, "text": _percent(weight)}
        if place in stays:
            cells.append(known | {"until": 2})
            cells.append(known | {"text": _percent(again[place]), "since": 2})
            continue
        cells.append(known | {"until": 1})
        cells.append(box | {"ink": "idle", "since": 1})
        if ink != "cache":
            cells.append(box | {"ink": ink, "y2": y + STRIP, "since": 1})
    return cells


def _bars(outputs: list[np.ndarray]) -> list[Row]:
    """The first numbers of the output in each frame, beside those with all tokens."""
    tallest = TALLEST * np.abs(outputs[0][:NUMBERS]).max()  # the same in each view
    rows = [_bar(x, size / tallest, "other") for x, size in _first(outputs[0])]
    for frame, output in enumerate(outputs[1:], 1):
        life = {"since": frame, "until": frame + 1}
        rows += [
            _bar(x + 1.1, size / tallest, "compute") | life
            for x, size in _first(output)
        ]
    return rows


def _first(output: np.ndarray) -> list[tuple[float, float]]:
    """Places and sizes of the numbers that are drawn."""
    return [(2.6 * i + 0.1, float(size)) for i, size in enumerate(output[:NUMBERS])]


def _bar(x: float, size: float, ink: str) -> Row:
    size = max(-1.0, min(size, 1.0))
    ends = sorted((LEVEL, round(LEVEL - REACH * size, 2)))
    return {"x": x, "x2": x + 1, "y": ends[0], "y2": ends[1], "ink": ink}


def _forgetting_log(head: eviction.Head, name: str, kept: np.ndarray) -> StepLog:
    """All tokens and their attention, then the choice, then the attention again."""
    weights = head.weights()[-1]
    share, error = float(weights[kept].sum()), head.error(kept)
    outputs = [head.output(), head.remaining(kept), head.output(kept)]
    before = relative_error(outputs[0], outputs[1])
    lost = len(set(head.facts) - set(kept.tolist()))
    texts = (
        f"{PLACES} tokens of one made-up head. The last query gives "
        f"{weights[0]:.0%} of its attention to the first token.",
        f"{name.capitalize()}: {len(kept)} tokens stay, the others are forgotten, "
        f"{lost} of {len(head.facts)} facts among them. With the weights as they were, "
        f"the output would be off by {before:.0%}.",
        f"But attention must add up to 100% again: each weight becomes "
        f"{1 / share:.2f} times as large. The output is off by {error:.0%}.",
    )
    counters = [
        (str(PLACES), "100%", "0%"),
        *[(str(len(kept)), f"{share:.0%}", f"{off:.0%}") for off in (before, error)],
    ]
    frames = [Frame(t, c) for t, c in zip(texts, counters, strict=True)]
    tables = {"cells": _cells(head, kept), "bars": _bars(outputs)}
    return StepLog(tuple(frames), tables)
