"""A decode on three multiprocessors, stepped: three splits with a merge, and one block.

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
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.page.step.pictures import lifetimes

Row = dict[str, Any]
TICKS = KEYS // TILE
MERGE = TICKS // SPLITS + 1  # the tick in which the splits are merged
LEFT, WIDE, HIGH, GAP = 2.6, 3.5, 0.9, 1.0
SPLITS_Y, BLOCK_Y, TABLE_Y = 1.7, 5.5, 9.5  # of the first lane or line of each
COLUMNS = ("keys", "max", "sum", "log-sum-exp", "output", "")
HANDED = 3  # the first column that a split hands over
EDGES = (2.6, 5.8, 8.4, 11.0, 17.4, 20.5, 23.6)  # of the table's columns
RIGHT = LEFT + WIDE * TICKS


def split_decoding() -> StepFigure:
    """Three multiprocessors twice: all work for two ticks and merge, or one for six."""
    return StepFigure(
        name="split-decoding",
        title="Splits let idle multiprocessors read: the same output after fewer ticks",
        scene=Scene(
            x=SceneAxis((0, RIGHT), shown=False),
            y=SceneAxis((TABLE_Y + (SPLITS + 2) * GAP, 0), shown=False),
            marks=(
                Cells(table="cells", x2="x2", y2="y2", text="text"),
                Labels(table="words"),
            ),
            height=350,
            width=640,
            fixed={"words": _words()},
        ),
        logs={"ticks": _log(decoded(SPLITS), decoded(1))},
        start=MERGE - 1,  # the splits are done, the block has read half of its keys
        stills=(("ticks", 0), ("ticks", MERGE - 1), ("ticks", TICKS - 1)),
        legend={
            "cache": "tile of keys and values, read",
            "compute": "maximum, sum and output",
            "communication": "merge, and what it reads from memory",
            "idle": "multiprocessor without work",
        },
        counters=(
            Counter("ticks"),
            Counter("keys read by three splits"),
            Counter("keys read by one block"),
        ),
    )


def _words() -> list[Row]:
    found = [
        {"x": 1.2, "y": round(top + GAP * i + HIGH / 2, 2), "text": f"SM {i + 1}"}
        for top in (SPLITS_Y, BLOCK_Y)
        for i in range(SPLITS)
    ]
    found += [
        {"x": LEFT + 1.75, "y": SPLITS_Y - 0.35, "text": "in three splits"},
        {"x": LEFT + 1.55, "y": BLOCK_Y - 0.35, "text": "as one block"},
    ]
    for tick in range(TICKS):
        at = round(LEFT + WIDE * (tick + 0.5), 2)
        found.append({"x": at, "y": 0.45, "text": f"tick {tick + 1}"})
    for i, name in enumerate(COLUMNS[:-1]):
        end = EDGES[-1] if name == "output" else EDGES[i + 1]
        at = (EDGES[i] + end) / 2
        found.append({"x": round(at, 2), "y": TABLE_Y - 0.4, "text": name})
    return found


def _log(three: VisitLog, one: VisitLog) -> StepLog:
    """A frame a tick, until the block without splits is done, too."""
    frames, pictures = list[Frame](), list[dict[Any, Row]]()
    for tick in range(1, TICKS + 1):
        by_splits, by_block = min(tick * SPLITS * TILE, KEYS), tick * TILE
        text = _of_splits(three, tick) + _of_block(one, tick)
        counted = (float(tick), float(by_splits), float(by_block))
        frames.append(Frame(text, counted))
        pictures.append(_picture(three, one, tick))
    return StepLog(tuple(frames), {"cells": lifetimes(pictures)})


def _of_splits(log: VisitLog, tick: int) -> str:
    if tick < MERGE:
        return (
            f"After tick {tick} the three splits have read {tick * SPLITS * TILE} of "
            f"{KEYS} keys"
        )
    if tick > MERGE:
        return "The three splits were merged in tick 3"
    each, shares = WIDTH_V + 1, _shares(log)
    parts = ", ".join(f"{share:.1%}" for share in shares)
    return (
        f"Each split has written {each} numbers, and the merge reads all "
        f"{SPLITS * each}. The splits hold {parts} of the sum of all exp(score), and "
        "their outputs count that much"
    )


def _of_block(log: VisitLog, tick: int) -> str:
    if tick < TICKS:
        return f"; one block alone has read {tick * TILE} of {KEYS}."
    out = ", ".join(_numbers(log.output[0]))
    return f"; one block alone has now found the same output, {out}."


def _shares(log: VisitLog) -> Any:
    logs, _ = _partials(log)
    return np.exp(logs - np.logaddexp.reduce(logs))


def _partials(log: VisitLog) -> tuple[Any, Any]:
    """Log-sum-exp and output of each split, from its last step."""
    last = {step.block: step for step in log.steps}
    logs = np.array([s.highest[0] + np.log(s.total[0]) for s in last.values()])
    outs = np.array([s.mixed[0] / s.total[0] for s in last.values()])
    return logs, outs


def _picture(three: VisitLog, one: VisitLog, tick: int) -> dict[Any, Row]:
    """Lanes up to ``tick``, and the table of what each block has found so far."""
    found = _lanes("splits", three, SPLITS_Y, tick)
    found |= _lanes("block", one, BLOCK_Y, tick)
    for lane in range(SPLITS):
        steps = [step for step in three.steps if step.block == lane][:tick]
        found |= _table(lane, steps, handed=tick >= MERGE)
    if tick >= MERGE:
        logs, _ = _partials(three)
        whole = float(np.logaddexp.reduce(logs))
        words = ["merged", "–", "–", f"{whole:.2f}", *_numbers(three.output[0])]
        found |= _line(SPLITS, words, ["compute"] * len(EDGES))
    if tick == TICKS:
        words = ["one block", *_state(one.steps[-1])]
        found |= _line(SPLITS + 1, words, ["compute"] * len(EDGES))
    return found


def _lanes(name: str, log: VisitLog, top: float, tick: int) -> dict[Any, Row]:
    """What each multiprocessor did in every tick so far."""
    found: dict[Any, Row] = {}
    for lane in range(SPLITS):
        steps = [step for step in log.steps if step.block == lane]
        for at in range(tick):
            ink, text = "idle", ""
            if at < len(steps):
                ink, text = "cache", _keys(steps[at])
            elif name == "splits" and at == MERGE - 1 and lane == 0:
                ink, text = "communication", "merge"
            elif name == "splits" and at >= MERGE:
                continue  # the work is done
            x, y = LEFT + WIDE * at, top + GAP * lane
            found[name, lane, at] = _cell(x, x + WIDE, y, ink, text)
    return found


def _keys(step: KernelStep) -> str:
    return f"{step.keys[0] + 1}–{step.keys[1]}"


def _numbers(numbers: Any) -> list[str]:
    return [f"{each:.2f}".replace("-", "−") for each in numbers]


def _state(step: KernelStep) -> list[str]:
    """Maximum, sum, log-sum-exp and output after a step."""
    top, total = float(step.highest[0]), float(step.total[0])
    words = [f"{top:.1f}".replace("-", "−"), f"{total:.2f}"]
    return words + _numbers([top + float(np.log(total)), *(step.mixed[0] / total)])


def _table(lane: int, steps: list[KernelStep], *, handed: bool) -> dict[Any, Row]:
    """A split's line; what it hands over is its log-sum-exp and its output."""
    words = [f"{steps[0].keys[0] + 1}–{steps[-1].keys[1]}", *_state(steps[-1])]
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
