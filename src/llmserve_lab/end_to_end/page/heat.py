"""Temperature and top-p, stepped: the same logits, at other temperatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.end_to_end.sampling import chances, nucleus
from llmserve_lab.end_to_end.story import PROMPT, WORDS, model, tokenize
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.transformer.arithmetic import Array

Row = dict[str, Any]
TEMPERATURES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
LOGS = {"all words": 1.0, "top-p 0.9": 0.9}
SHOWN = 5
RARE, WANTED = " seed", 0.1
ROOM, GAP = 0.15, 0.012  # of the axis: the shortest bar with its number in it


def logits() -> Array:
    """Logits [V] of the small model after the prompt."""
    return np.asarray(model().forward(tokenize(PROMPT))[-1])


def heat() -> StepFigure:
    """Probabilities of the likeliest words, by temperature."""
    first = next(iter(LOGS))
    return StepFigure(
        name="temperature",
        title="A low temperature favours the likeliest word, a high one levels all",
        scene=Scene(
            x=SceneAxis((0, 1), "probability of the next word (the five likeliest)"),
            y=SceneAxis(tuple(WORDS[i].strip() for i in _likeliest())),
            marks=(
                Cells(table="bars", x="start", x2="end", y="word", text="text"),
                Labels(table="beside", y="word", align="left"),
            ),
            height=28 * SHOWN,
        ),
        logs={name: _log(top_p) for name, top_p in LOGS.items()},
        stills=tuple((first, frame) for frame in (0, 3, len(TEMPERATURES) - 1)),
        start=TEMPERATURES.index(1.0),
        legend={"new": "may be drawn", "idle": "cut off by top-p"},
        counters=(Counter("temperature"), Counter("words that may be drawn")),
        goal=Goal(
            "let “seed” be drawn more than once in ten times",
            lambda frame, log: (
                ((log < 1) & (frame >= first_frame(1.0)))
                | ((log > 0) & (frame >= first_frame(0.9)))
            ),
            {"log": first, "frame": first_frame(1.0)},
        ),
    )


def first_frame(top_p: float) -> int:
    """The first temperature at which the rare word has more than the wanted share."""
    at = WORDS.index(RARE)
    shares = [float(chances(logits(), t, top_p)[at]) for t in TEMPERATURES]
    return next(i for i, share in enumerate(shares) if share > WANTED)


def _likeliest() -> list[int]:
    return [int(i) for i in np.argsort(-logits(), kind="stable")[:SHOWN]]


def _log(top_p: float) -> StepLog:
    frames, bars, beside = list[Frame](), list[Row](), list[Row]()
    for number, temperature in enumerate(TEMPERATURES):
        free = chances(logits(), temperature)
        kept, shares = nucleus(free, top_p), chances(logits(), temperature, top_p)
        for token in _likeliest():
            share = float(shares[token] if kept[token] else free[token])
            row = {"word": WORDS[token].strip(), "since": number, "until": number + 1}
            number_on, number_beside = _placed(share, drawn=bool(kept[token]))
            ink = "new" if kept[token] else "idle"
            bars.append({**row, "start": 0, "end": share, "ink": ink, **number_on})
            beside.append({**row, "x": share + GAP, **number_beside})
        frames.append(_frame(temperature, shares, int(kept.sum())))
    return StepLog(tuple(frames), {"bars": bars, "beside": beside})


def _placed(share: float, *, drawn: bool) -> tuple[Row, Row]:
    """The number of a bar: in it where there is room and the bar is not hatched."""
    shown = {"text": f"{share:.2f}"}
    return (shown, {"text": ""}) if drawn and share >= ROOM else ({"text": ""}, shown)


def _frame(temperature: float, shares: Array, kept: int) -> Frame:
    best = int(shares.argmax())
    said = (
        f"At temperature {temperature:g}, “{WORDS[best].strip()}” is drawn "
        f"{100 * shares[best]:.0f} times in a hundred."
    )
    return Frame(said, (temperature, float(kept)))
