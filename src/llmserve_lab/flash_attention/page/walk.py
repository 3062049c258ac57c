"""Six tokens in tiles, stepped: what lies on chip, and the running softmax of its rows.

The kernel ran; its log is cut into a frame a visit, and one when rows are written.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab.flash_attention.example import (
    TILE,
    TOKENS,
    WIDTH_V,
    KernelStep,
    VisitLog,
    tiled,
)
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.page.step.pictures import lifetimes

Row = dict[str, Any]
WIDE = 1.8  # of a score
GRID_X, GRID_Y, KEYS_Y, VALUES_Y = 2.3, 3.0, 1.3, 0.15
STATE_EDGES = (13.4, 17.3, 20.2, 23.1, 26.05, 29.0)
COLUMNS = ("factor", "max", "sum", "mixture", "")
MASKED = "−∞"  # what a score is set to that the mask forbids
DONE, PALE = 0.22, 0.35
RIGHT = STATE_EDGES[-1]


def tiles_walked() -> StepFigure:
    """Queries stay, keys go by: six visits, and three times two rows written."""
    log = tiled()
    return StepFigure(
        name="tiles-walked",
        title="No score outlives its tile: each row keeps a maximum, a sum, a mixture",
        scene=Scene(
            x=SceneAxis((0, RIGHT), shown=False),
            y=SceneAxis((GRID_Y + TOKENS + 0.15, 0), shown=False),
            marks=(
                Cells(table="cells", x2="x2", y2="y2", text="text", opacity="faint"),
                Labels(table="words"),
            ),
            height=300,
            width=640,
            fixed={"words": _words()},
        ),
        logs={"tiles": _log(log)},
        start=_first_rise(log),
        stills=(("tiles", 1), ("tiles", 3), ("tiles", 8)),
        legend={
            "new": "queries on chip",
            "cache": "keys and values on chip",
            "compute": "computed on chip (pale: used and forgotten)",
            "idle": "tile of the future, skipped",
            "empty": "in memory, or not computed yet",
            "other": "output, written to memory",
        },
        counters=(
            Counter("numbers read"),
            Counter("numbers written"),
            Counter("scores on chip"),
        ),
    )


def _first_rise(log: VisitLog) -> int:
    """The frame in which a row first finds a larger score, so that it is rescaled."""
    visit = next(
        i
        for i, step in enumerate(log.steps)
        if any(0 < factor < 1 for factor in step.factor)
    )
    written = len({step.rows for step in log.steps[: visit + 1]}) - 1
    return visit + written


def _words() -> list[Row]:
    found = [
        {"x": 15.2, "y": KEYS_Y + 0.45, "text": "keys"},
        {"x": 15.5, "y": VALUES_Y + 0.45, "text": "values"},
        {"x": 2.2, "y": GRID_Y - 0.35, "text": "queries"},
    ]
    ends = (*STATE_EDGES[1:4], STATE_EDGES[5])
    for name, left, right in zip(COLUMNS[:4], STATE_EDGES[:4], ends, strict=True):
        at = round((left + right) / 2, 2)
        found.append({"x": at, "y": GRID_Y - 0.35, "text": name})
    return found


def _log(log: VisitLog) -> StepLog:
    frames, pictures = list[Frame](), list[dict[Any, Row]]()
    written: set[int] = set()
    steps = log.steps
    for number, step in enumerate(steps):
        frames.append(
            Frame(
                _sentence(step),
                (float(step.read), float(step.written), float(step.scores.size)),
            )
        )
        pictures.append(_picture(log, number, written, busy=True))
        after = steps[number + 1] if number + 1 < len(steps) else None
        if after is None or after.rows != step.rows:
            written |= set(range(*step.rows))
            out = float(step.written + TILE * WIDTH_V)
            frames.append(Frame(_written(log, step), (float(step.read), out, 0.0)))
            pictures.append(_picture(log, number, written, busy=False))
    return StepLog(tuple(frames), {"cells": lifetimes(pictures)})


def _sentence(step: KernelStep) -> str:
    """The visit, and what it does to the rows of its tile."""
    first, last = step.rows[0] + 1, step.rows[1]
    tile = f"Queries {first}–{last} meet keys {step.keys[0] + 1}–{step.keys[1]}. "
    now = float(step.highest[-1])
    if step.factor[-1] == 0:
        return tile + (
            f"It is their first tile, so nothing is rescaled yet. Query {last} has the "
            f"maximum {_number(now)} and the sum {step.total[-1]:.2f}."
        )
    if step.factor[-1] == 1:
        return tile + (
            f"For query {last} no score is above its maximum, {_number(now)}: nothing "
            f"is rescaled, and the sum grows to {step.total[-1]:.2f}."
        )
    risen = [i for i, factor in enumerate(step.factor) if 0 < factor < 1]
    found = [
        f"query {first + i} finds a larger score, {_number(step.highest[i])}: sum and "
        f"mixture are multiplied by {step.factor[i]:.3f}"
        for i in risen
    ]
    said = "; ".join(found)
    return f"{tile}{said[0].upper()}{said[1:]}, before the new scores are added."


def _number(value: float) -> str:
    return f"{value:.1f}".replace("-", "−")


def _written(log: VisitLog, step: KernelStep) -> str:
    first, last = step.rows[0] + 1, step.rows[1]
    out = ", ".join(f"{number:.2f}" for number in log.output[last - 1, 0])
    return (
        f"Queries {first}–{last} have met all their keys: mixture over sum is their "
        f"output ({out} for query {last}), and only that is written."
    )


def _picture(
    log: VisitLog, number: int, written: set[int], *, busy: bool
) -> dict[Any, Row]:
    """Everything that is drawn while visit ``number`` is on chip, or has just left."""
    step = log.steps[number]
    found: dict[Any, Row] = {}
    for token in range(TOKENS):
        on_rows = busy and step.rows[0] <= token < step.rows[1]
        on_keys = busy and step.keys[0] <= token < step.keys[1]
        y = GRID_Y + token
        found["q", token] = _cell(
            0.0, 2.1, y, "new" if on_rows else "empty", f"q{token + 1}"
        )
        x = GRID_X + WIDE * token
        for name, top in (("k", KEYS_Y), ("v", VALUES_Y)):
            ink = "cache" if on_keys else "empty"
            found[name, token] = _cell(x, x + WIDE, top, ink, f"{name}{token + 1}")
        for key in range(TOKENS):
            found["score", token, key] = _score(log, number, token, key, busy=busy)
        found |= _state(log, number, token, written, busy=busy)
    return found


def _cell(x: float, x2: float, y: float, ink: str, text: str, faint: float = 1) -> Row:
    high = 0.9
    return {
        "x": round(x, 2),
        "x2": round(x2, 2),
        "y": round(y, 2),
        "y2": round(y + high, 2),
        "ink": ink,
        "text": text,
        "faint": faint,
    }


def _score(log: VisitLog, number: int, token: int, key: int, *, busy: bool) -> Row:
    """A pair: on chip, forgotten, not yet made, or of the future."""
    x, y = GRID_X + WIDE * key, GRID_Y + token
    if key // TILE > token // TILE:
        return _cell(x, x + WIDE, y, "idle", "")
    step = log.steps[number]
    here = step.rows[0] <= token < step.rows[1] and step.keys[0] <= key < step.keys[1]
    if busy and here:
        value = step.scores[token - step.rows[0], key - step.keys[0]]
        text = _number(value) if key <= token else MASKED
        return _cell(x, x + WIDE, y, "compute", text)
    past = any(
        s.rows[0] <= token < s.rows[1] and s.keys[0] <= key < s.keys[1]
        for s in log.steps[: number + 1]
    )
    ink, faint = ("compute", DONE) if past else ("empty", 1.0)
    return _cell(x, x + WIDE, y, ink, "", faint)


def _state(
    log: VisitLog, number: int, token: int, written: set[int], *, busy: bool
) -> dict[Any, Row]:
    """Maximum, sum and mixture of a row on chip, or its output in memory."""
    step, found = log.steps[number], dict[Any, Row]()
    on_chip = busy and step.rows[0] <= token < step.rows[1]
    if on_chip:
        i = token - step.rows[0]
        factor = float(step.factor[i])
        numbers = ["first" if factor == 0 else f"{factor:.3f}"]
        numbers += [_number(step.highest[i]), f"{step.total[i]:.2f}"]
        numbers += [f"{each:.2f}" for each in step.mixed[i]]
        ink = "compute"
    elif token in written:
        return _output(log, token)
    else:
        numbers, ink = [""] * len(COLUMNS), "empty"
    for column, text in enumerate(numbers):
        left, right = STATE_EDGES[column], STATE_EDGES[column + 1]
        own = ink if text else "empty"
        found["state", token, column] = _cell(left, right, GRID_Y + token, own, text)
    return found


def _output(log: VisitLog, token: int) -> dict[Any, Row]:
    """The output of a row in memory, called so where its maximum and sum stood."""
    y, edges = GRID_Y + token, (STATE_EDGES[0], *STATE_EDGES[3:])
    texts = [
        "output = mixture ÷ sum",
        *(f"{each:.2f}" for each in log.output[token, 0]),
    ]
    return {
        ("output", token, i): _cell(edges[i], edges[i + 1], y, "other", text)
        for i, text in enumerate(texts)
    }
