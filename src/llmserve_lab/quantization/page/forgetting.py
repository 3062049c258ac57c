"""Step figure: a cache forgets tokens, by their place or by the attention they got."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Scene, SceneAxis
from llmserve_lab.quantization import eviction
from llmserve_lab.quantization.page.steps import WIDTH

PLACES, COLUMNS, KEEP, SINKS = 48, 16, 16, 4


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
            marks=(Cells(table="cells", x2="x2", text="text", opacity="opacity"),),
            height=150,
            width=620,
        ),
        logs={name: _forgetting_log(head, name, kept[name]) for name in names},
        stills=tuple((name, 3) for name in names),
        legend={
            "cache": "token in the cache; the number is its attention in %",
            "communication": "fact that the question is about",
            "new": "sink: first token, much attention, small value",
            "idle": "forgotten",
        },
        counters=(
            Counter("tokens kept"),
            Counter("attention kept"),
            Counter("error of the output"),
        ),
        start=3,
    )


def _forgetting_log(head: eviction.Head, name: str, kept: np.ndarray) -> StepLog:
    """All tokens, then the attention, then the choice, then what is left of it."""
    weights = head.weights()[-1]
    important, stays = set(head.facts), set(kept.tolist())
    cells = []
    for place, weight in enumerate(weights):
        ink = "new" if place == 0 else "cache"
        ink = "communication" if place in important else ink
        text = f"{100 * weight:.0f}" if weight >= 0.005 else ""
        at = {"x": place % COLUMNS, "y": place // COLUMNS}
        box = {"x2": at["x"] + WIDTH, "opacity": 1.0}
        cells.append({**at, **box, "ink": "cache", "text": "", "until": 1})
        gone = {} if place in stays else {"until": 2}
        cells.append({**at, **box, "ink": ink, "text": text, "since": 1, **gone})
        if place not in stays:
            cells.append({**at, **box, "ink": "idle", "text": "", "since": 2})
    share, error = float(weights[sorted(stays)].sum()), head.error(kept)
    lost = len(important - stays)
    texts = (
        f"{PLACES} tokens of a prompt in the cache of one made-up head.",
        f"The last query gives {weights[0]:.0%} of its attention to the first token.",
        f"{name.capitalize()}: {len(stays)} tokens stay, the others are forgotten.",
        f"{lost} of {len(important)} facts are gone; the output is off by {error:.0%}.",
    )
    counters = [
        (str(PLACES), "100%", "0%"),
        (str(PLACES), "100%", "0%"),
        *[(str(len(stays)), f"{share:.0%}", f"{error:.0%}")] * 2,
    ]
    frames = [Frame(t, c) for t, c in zip(texts, counters, strict=True)]
    return StepLog(tuple(frames), {"cells": cells})
