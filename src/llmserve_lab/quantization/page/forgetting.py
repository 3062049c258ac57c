"""Step figure: a cache forgets tokens, by their place or by the attention they got."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.quantization import kv_eviction
from llmserve_lab.quantization.page.steps import WIDTH, Row
from llmserve_lab.quantization.schemes import relative_error

PLACES, COLUMNS, KEEP, SINKS = 48, 16, 16, 4
STRIP = 0.3  # of a forgotten token's cell: what it was
BARS = "error of the output, by what stays"
FIRST, THICK = 3.7, 0.45  # the upper edge of the first error's bar, its height
LEFT, LONGEST = 6.8, 7.0  # where the bars of the errors begin; the longest


@cache
def small_head() -> kv_eviction.Head:
    """The synthetic head with few tokens, so that each can be drawn."""
    return kv_eviction.synthetic_head(PLACES, seed=2, num_facts=3, observing=4)


def forgetting() -> StepFigure:
    """Three choices of the tokens to keep, beside the attention each of them gets."""
    head = small_head()
    kept = kv_eviction.kept_by(head, KEEP, sinks=SINKS)
    names = list(kept)
    return StepFigure(
        name="forgetting",
        title="Forgetting the sink ruins the output; keeping what was asked for helps",
        scene=Scene(
            x=SceneAxis((0, COLUMNS), shown=False),
            y=SceneAxis((FIRST + 3.6 * THICK, 0), shown=False),
            marks=(
                Cells(table="cells", x2="x2", y2="y2", text="text"),
                Cells(table="bars", x2="x2", y2="y2"),
                Labels(table="names", align="left"),
            ),
            height=230,
            width=620,
        ),
        logs={name: _forgetting_log(head, name, kept) for name in names},
        stills=tuple((name, 2) for name in names),
        legend={
            "cache": "token in the cache; its attention in %, none written below 0.5",
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


def _cells(head: kv_eviction.Head, kept: np.ndarray) -> list[Row]:
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


def _error_rows(
    head: kv_eviction.Head, kept: dict[str, np.ndarray], chosen: str
) -> dict[str, list[Row]]:
    """The error of each choice, on one scale; that of the chosen one grows with it.

    Nothing is lost in frame 0. In frame 1 the attention is as it was before, in frame 2
    it adds up to one again; then the other choices are shown as well.
    """
    whole = head.output()
    ends = {name: head.error(each) for name, each in kept.items()}
    before = relative_error(whole, head.remaining(kept[chosen]))
    names: list[Row] = [{"x": 0, "y": FIRST - 0.3, "text": BARS}]
    bars: list[Row] = []
    for at, (name, end) in enumerate(ends.items()):
        upper = round(FIRST + at * 1.2 * THICK, 3)
        low, middle = round(upper + THICK, 3), upper + THICK / 2
        at_end: Row = {"since": 2}
        names.append(
            {"x": 0, "y": middle, "text": name} | ({} if name == chosen else at_end)
        )
        spans: list[tuple[float, Row]] = [(end, at_end)]
        if name == chosen:
            spans = [
                (0.0, {"until": 1}),
                (before, {"since": 1, "until": 2}),
                (end, {"since": 2}),
            ]
        for error, seen in spans:
            x2 = round(LEFT + max(0.04, LONGEST * error / max(ends.values())), 3)
            place: Row = {"x": LEFT, "x2": x2, "y": upper, "y2": low, "ink": "other"}
            bars.append(place | seen)
            said: Row = {"x": x2 + 0.15, "y": middle, "text": f"{error:.0%}"}
            names.append(said | seen)
    return {"bars": bars, "names": names}


def _forgetting_log(
    head: kv_eviction.Head, name: str, choices: dict[str, np.ndarray]
) -> StepLog:
    """All tokens and their attention, then the choice, then the attention again."""
    weights, kept = head.weights()[-1], choices[name]
    share, error = float(weights[kept].sum()), head.error(kept)
    before = relative_error(head.output(), head.remaining(kept))
    lost = len(set(head.facts) - set(kept.tolist()))
    texts = (
        f"{PLACES} tokens of one made-up head. The last query gives "
        f"{weights[0]:.0%} of its attention to the first token.",
        f"{name.capitalize()}: {len(kept)} tokens stay, the others are forgotten, "
        f"{lost} of {len(head.facts)} facts among them. With the weights as they were, "
        f"the output would be off by {before:.0%}.",
        f"But attention must add up to 100% again: each share becomes "
        f"{1 / share:.2f} times as large. The output is off by {error:.0%}.",
    )
    counters = [
        (str(PLACES), "100%", "0%"),
        *[(str(len(kept)), f"{share:.0%}", f"{off:.0%}") for off in (before, error)],
    ]
    frames = [Frame(t, c) for t, c in zip(texts, counters, strict=True)]
    return StepLog(
        tuple(frames), {"cells": _cells(head, kept)} | _error_rows(head, choices, name)
    )
