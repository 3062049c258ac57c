"""Step figure: a cache forgets tokens, by their place or by the attention they got."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Scene, SceneAxis
from llmserve_lab.quantization import eviction
from llmserve_lab.quantization.page.steps import WIDTH, Row

PLACES, COLUMNS, KEEP, SINKS = 48, 16, 16, 4
STRIP = 0.3  # of a forgotten token's cell: what it was


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
            y=SceneAxis((PLACES // COLUMNS, 0), shown=False),
            marks=(Cells(table="cells", x2="x2", y2="y2", text="text"),),
            height=150,
            width=620,
        ),
        logs={name: _forgetting_log(head, name, kept[name]) for name in names},
        stills=tuple((name, 2) for name in names),
        legend={
            "cache": "token in the cache; the number is its attention in %",
            "communication": "fact that the question is about",
            "new": "sink: first token, much attention, small value",
            "idle": "forgotten (a strip shows what it was)",
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


def _forgetting_log(head: eviction.Head, name: str, kept: np.ndarray) -> StepLog:
    """All tokens and their attention, then the choice, then the attention again."""
    weights = head.weights()[-1]
    share, error = float(weights[kept].sum()), head.error(kept)
    lost = len(set(head.facts) - set(kept.tolist()))
    texts = (
        f"{PLACES} tokens of one made-up head. The last query gives "
        f"{weights[0]:.0%} of its attention to the first token.",
        f"{name.capitalize()}: {len(kept)} tokens stay, the others are forgotten, "
        f"{lost} of {len(head.facts)} facts among them.",
        f"Attention adds up to 100% again: each weight is {1 / share:.2f} times as "
        f"large. The output is off by {error:.0%}.",
    )
    counters = [
        (str(PLACES), "100%", "0%"),
        *[(str(len(kept)), f"{share:.0%}", f"{error:.0%}")] * 2,
    ]
    frames = [Frame(t, c) for t, c in zip(texts, counters, strict=True)]
    return StepLog(tuple(frames), {"cells": _cells(head, kept)})
