"""Temperature and top-p, stepped: the same logits, at other temperatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.end_to_end.story import PROMPT, WORDS, model, tokenize
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.sampling import chances, nucleus

Row = dict[str, Any]
TEMPERATURES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
LOGS = {"all words": 1.0, "top-p 0.9": 0.9}
SHOWN = 5
OTHERS = "all others"
RARE, WANTED, MOST = " worm", 0.09, 5  # its share, and words that may be drawn
DIGITS = 9  # significant ones of a bar's end
ROOM, GAP = 0.15, 0.012  # of the axis: the shortest bar with its number in it


def logits() -> Array:
    """Logits [V] of the small model after the prompt."""
    return np.asarray(model().forward(tokenize(PROMPT))[-1])


def heat() -> StepFigure:
    """Probabilities of the likeliest words, by temperature."""
    first, last = LOGS
    return StepFigure(
        name="temperature",
        title="A high temperature levels the probabilities",
        scene=Scene(
            x=SceneAxis((-0.03, 1.03), "probability of being drawn"),
            y=SceneAxis((*(WORDS[i].strip() for i in _likeliest()), OTHERS)),
            marks=(
                Cells(table="bars", x="start", x2="end", y="word", text="text"),
                Labels(table="beside", y="word", align="left"),
            ),
            height=22 * (SHOWN + 1),
        ),
        logs={name: _log(top_p) for name, top_p in LOGS.items()},
        stills=tuple((first, frame) for frame in (0, 3, len(TEMPERATURES) - 1)),
        start=TEMPERATURES.index(1.0),
        counters=(Counter("temperature"), Counter("words that may be drawn")),
        goal=Goal(
            f"let “worm” be drawn more than {100 * WANTED:.0f} times in a hundred "
            f"while at most {MOST} words may be drawn",
            lambda frame, log: (
                (log > 0) & (frame >= wanted()[0]) & (frame <= wanted()[-1])
            ),
            {"log": last, "frame": wanted()[0]},
        ),
    )


def wanted(top_p: float = 0.9) -> list[int]:
    """Temperatures at which the rare word has its share and few words are left."""
    at = WORDS.index(RARE)
    found = [chances(logits(), t, top_p) for t in TEMPERATURES]
    return [i for i, p in enumerate(found) if p[at] > WANTED and (p > 0).sum() <= MOST]


def _likeliest() -> list[int]:
    return [int(i) for i in np.argsort(-logits(), kind="stable")[:SHOWN]]


def _log(top_p: float) -> StepLog:
    frames, bars, beside = list[Frame](), list[Row](), list[Row]()
    for number, temperature in enumerate(TEMPERATURES):
        free, shares = (chances(logits(), temperature, p) for p in (1.0, top_p))
        for word, tokens in _rows().items():
            share, was = float(shares[tokens].sum()), float(free[tokens].sum())
            row = {"word": word, "since": number, "until": number + 1}
            number_on, number_beside = _placed(share, was)
            ink = "new" if share else "empty"
            # Far finer than a pixel; further digits differ between installations.
            end, after = (float(f"{x:.{DIGITS}g}") for x in (share, share + GAP))
            bars.append({**row, "start": 0, "end": end, "ink": ink, **number_on})
            beside.append({**row, "x": after, **number_beside})
        kept = int(nucleus(free, top_p).sum())
        frames.append(_frame(temperature, shares, kept))
    return StepLog(tuple(frames), {"bars": bars, "beside": beside})


def _rows() -> dict[str, list[int]]:
    """The tokens of each row of the picture: the likeliest words, then all others."""
    found = {WORDS[i].strip(): [i] for i in _likeliest()}
    others = [i for i in range(len(WORDS)) if i not in _likeliest()]
    return found | {OTHERS: others}


def _placed(share: float, was: float) -> tuple[Row, Row]:
    """The number of a bar: in it where there is room; what is cut says what it was."""
    shown = {"text": f"{share:.2f}" if share else f"cut (was {was:.2f})"}
    return (shown, {"text": ""}) if share >= ROOM else ({"text": ""}, shown)


def _frame(temperature: float, shares: Array, kept: int) -> Frame:
    best = int(shares.argmax())
    said = (
        f"At temperature {temperature:g}, “{WORDS[best].strip()}” is drawn "
        f"{100 * shares[best]:.0f} times in a hundred."
    )
    return Frame(said, (temperature, float(kept)))
