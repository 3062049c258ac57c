"""A decode on three multiprocessors, stepped: one block, and three splits with a merge.

Both ran on the same query and keys; a frame is a tick, in which every block that is
not done takes its next tile of keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.flash_attention.example import (
    KEYS,
    SPLITS,
    TILE,
    WIDTH_V,
    KernelStep,
    VisitLog,
    decoded,
)
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.page.step.pictures import lifetimes

Row = dict[str, Any]
LOGS = {"three splits": SPLITS, "one block": 1}
TICKS = KEYS // TILE
LEFT, WIDE, HIGH, GAP = 2.6, 3.5, 0.9, 1.05
LANES_Y, TABLE_Y = 1.0, 5.6
COLUMNS = ("keys", "max", "sum", "log-sum-exp", "output", "")
HANDED = 3  # the first column that a split hands over
EDGES = (2.6, 5.8, 8.4, 11.0, 17.4, 20.5, 23.6)  # of the table's columns
RIGHT = LEFT + WIDE * TICKS


def split_decoding() -> StepFigure:
    """Three multiprocessors: one works for six ticks, or three for two, and a merge."""
    logs = {name: _log(decoded(count), count) for name, count in LOGS.items()}
    three, one = logs
    return StepFigure(
        name="split-decoding",
        title="Splits let idle multiprocessors read: the same output after fewer ticks",
        scene=Scene(
            x=SceneAxis((0, RIGHT), shown=False),
            y=SceneAxis((TABLE_Y + 5 * GAP, 0), shown=False),
            marks=(
                Cells(table="cells", x2="x2", y2="y2", text="text"),
                Labels(table="words"),
            ),
            height=300,
            width=640,
            fixed={"words": _words()},
        ),
        logs=logs,
        start=TICKS // SPLITS - 1,  # all three splits have read their keys
        stills=((three, 1), (three, 3), (one, TICKS - 1)),
        legend={
            "cache": "tile of keys and values, read",
            "compute": "maximum, sum and output so far",
            "communication": "through memory to the merge",
            "idle": "multiprocessor without work",
        },
        counters=(
            Counter("ticks"),
            Counter("multiprocessors at work"),
            Counter("numbers moved for the merge"),
        ),
        goal=Goal(
            "find the frame in which three splits have become the output",
            lambda log, frame: (log < 1) & (frame >= TICKS // SPLITS + 1),
            {"log": three, "frame": TICKS // SPLITS + 1},
        ),
    )


def _words() -> list[Row]:
    found = [
        {"x": 1.2, "y": round(LANES_Y + GAP * i + HIGH / 2, 2), "text": f"SM {i + 1}"}
        for i in range(SPLITS)
    ]
    for tick in range(TICKS):
        at = round(LEFT + WIDE * (tick + 0.5), 2)
        found.append({"x": at, "y": 0.5, "text": f"tick {tick + 1}"})
    for i, name in enumerate(COLUMNS[:-1]):
        end = EDGES[-1] if name == "output" else EDGES[i + 1]
        at = (EDGES[i] + end) / 2
        found.append({"x": round(at, 2), "y": TABLE_Y - 0.45, "text": name})
    return found


def _log(log: VisitLog, count: int) -> StepLog:
    """A frame a tick, and with splits two for the merge."""
    per_block = TICKS // count
    frames, pictures = list[Frame](), list[dict[Any, Row]]()
    for tick in range(1, per_block + 1):
        text = _sentence(count, tick) + _found(log, count, tick)
        frames.append(Frame(text, (float(tick), float(count), 0.0)))
        pictures.append(_picture(log, count, tick))
    if count > 1:
        moved = float(2 * count * (WIDTH_V + 1))
        frames.append(Frame(_handed(count), (float(per_block), 0.0, moved)))
        pictures.append(_picture(log, count, per_block, handed=True))
        frames.append(Frame(_merged(log), (float(per_block + 1), 1.0, moved)))
        pictures.append(_picture(log, count, per_block, handed=True, merged=True))
    return StepLog(tuple(frames), {"cells": lifetimes(pictures)})


def _sentence(count: int, tick: int) -> str:
    read = f"{tick * count * TILE} of {KEYS} keys are read"
    work = "one of three" if count == 1 else "all three"
    return f"After tick {tick}: {read}; {work} multiprocessors worked."


def _found(log: VisitLog, count: int, tick: int) -> str:
    if tick < TICKS // count or count > 1:
        return ""
    out = ", ".join(f"{each:.2f}" for each in log.output[0])
    return f" Divided by its sum, the mixture is the output: {out}."


def _handed(count: int) -> str:
    each = WIDTH_V + 1
    return (
        f"Each of the {count} splits writes {each} numbers, its own output and one "
        f"log-sum-exp (maximum + log of the sum): {count * each} are written, and the "
        "merge reads as many."
    )


def _merged(log: VisitLog) -> str:
    logs, _ = _partials(log)
    shares = np.exp(logs - np.logaddexp.reduce(logs))
    parts = ", ".join(f"{share:.1%}" for share in shares)
    out = ", ".join(f"{each:.2f}" for each in log.output[0])
    return (
        f"The splits hold {parts} of the sum of all exp(score), and count that much: "
        f"the output is {out}, as without splits. (On a GPU the merge is a kernel of "
        "its own.)"
    )


def _partials(log: VisitLog) -> tuple[Any, Any]:
    """VisitLog-sum-exp and output of each split, from its last step."""
    last = {step.block: step for step in log.steps}
    logs = np.array([s.highest[0] + np.log(s.total[0]) for s in last.values()])
    outs = np.array([s.mixed[0] / s.total[0] for s in last.values()])
    return logs, outs


def _picture(
    log: VisitLog, count: int, tick: int, *, handed: bool = False, merged: bool = False
) -> dict[Any, Row]:
    """Lanes up to ``tick``, and the table of what each block has found so far."""
    found: dict[Any, Row] = {}
    for lane in range(SPLITS):
        y = LANES_Y + GAP * lane
        steps = [step for step in log.steps if step.block == lane][:tick]
        for at in range(tick + merged):
            x = LEFT + WIDE * at
            ink, text = "idle", ""
            if at < len(steps):
                ink, text = "cache", _keys(steps[at])
            elif merged and at == tick and lane == 0:
                ink, text = "communication", "merge"
            found["lane", lane, at] = _cell(x, x + WIDE, y, ink, text)
        if steps:
            found |= _table(lane, steps, handed=handed)
    if merged:
        logs, _ = _partials(log)
        whole = float(np.logaddexp.reduce(logs))
        words = ["all", "–", "–", f"{whole:.2f}"]
        inks = ["compute"] * len(EDGES)
        found |= _line(SPLITS, [*words, *_numbers(log.output[0])], inks)
    return found


def _keys(step: KernelStep) -> str:
    return f"{step.keys[0] + 1}–{step.keys[1]}"


def _numbers(numbers: Any) -> list[str]:
    return [f"{each:.2f}".replace("-", "−") for each in numbers]


def _table(lane: int, steps: list[KernelStep], *, handed: bool) -> dict[Any, Row]:
    """A block's line; what it hands over is its log-sum-exp and its output."""
    step = steps[-1]
    top, total = float(step.highest[0]), float(step.total[0])
    words = [
        f"{steps[0].keys[0] + 1}–{step.keys[1]}",
        f"{top:.1f}".replace("-", "−"),
        f"{total:.2f}",
    ]
    words += _numbers([top + float(np.log(total)), *(step.mixed[0] / total)])
    inks = ["communication" if handed and i >= HANDED else "compute" for i in range(6)]
    return _line(lane, words, inks)


def _line(row: int, words: list[str], inks: list[str]) -> dict[Any, Row]:
    y = TABLE_Y + GAP * row
    return {
        ("table", row, i): _cell(EDGES[i], EDGES[i + 1], y, inks[i], word)
        for i, word in enumerate(words)
        if word
    }


def _cell(x: float, x2: float, y: float, ink: str, text: str) -> Row:
    return {
        "x": round(x, 2),
        "x2": round(x2, 2),
        "y": round(y, 2),
        "y2": round(y + HIGH, 2),
        "ink": ink,
        "text": text,
    }
