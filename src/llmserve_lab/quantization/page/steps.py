"""Step figures: a group becomes codes, and GPTQ's columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.quantization.codecs import INT4
from llmserve_lab.quantization.gptq import columns, gptq, output_error, rtn
from llmserve_lab.quantization.schemes import Scheme, quantize

Row = dict[str, Any]
GROUP = (0.21, -0.53, 0.70, -0.34, 0.12, -0.04)
OUTLIER = (0.21, -0.53, 4.20, -0.34, 0.12, -0.04)
LOGS = {"an ordinary group": GROUP, "a group with an outlier": OUTLIER}
TOY = Scheme("", "", INT4, "fp32")
LINES = ("weight", "over scale", "code", "bits", "used as", "off by")
WIDTH = 0.97


def number(x: float, digits: int = 2) -> str:
    """A number with a proper minus sign."""
    text = f"{x:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def _cell(column: float, line: int, text: str, ink: str, **more: Any) -> Row:
    return {
        "x": column,
        "x2": column + WIDTH,
        "y": line,
        "text": text,
        "ink": ink,
    } | more


def group_quantized() -> StepFigure:
    """Six weights of a group become four-bit codes and a scale, a step a frame."""
    names = [
        {"x": -0.15, "y": line + 0.5, "text": name, "since": since}
        for line, (name, since) in enumerate(
            zip(LINES, (0, 3, 4, 4, 5, 6), strict=True)
        )
    ]
    first, second = LOGS
    return StepFigure(
        name="group",
        title="One group of weights: divide by the scale, round, keep the codes",
        scene=Scene(
            x=SceneAxis((-2.1, 6.05), shown=False),
            y=SceneAxis((6.1, 0), shown=False),
            marks=(
                Cells(table="cells", x2="x2", text="text"),
                Labels(table="names", align="right"),
            ),
            height=205,
            width=560,
            fixed={"names": names},
        ),
        logs={name: _group_log(np.array(group)) for name, group in LOGS.items()},
        stills=((first, 2), (first, 6), (second, 6)),
        legend={
            "weights": "weight in 16 bits",
            "communication": "largest of the group",
            "compute": "number over the scale",
            "new": "code that is stored",
            "cache": "weight as it is used",
            "other": "off by: used as − weight",
        },
        counters=(
            Counter("scale"),
            Counter("bytes of the group"),
            Counter("worst is off by"),
        ),
        start=6,
    )


def _group_log(group: np.ndarray) -> StepLog:
    """Frames from what the codec does: maximum, scale, codes, weights, errors."""
    found = quantize(group, TOY)
    scale, again = float(found.scales[0]), found.dequantize()
    top, error = int(np.abs(group).argmax()), again - group
    cells = []
    for i, x in enumerate(group):
        cells.append(_cell(i, 0, number(x), "weights"))
        if i == top:
            cells.append(_cell(i, 0, number(x), "communication", since=1))
        code = int(found.values[i])
        cells += [
            _cell(i, 1, number(x / scale), "compute", since=3),
            _cell(i, 2, number(code, 0), "new", since=4),
            _cell(i, 3, f"{int(found.codes[i]):04b}", "new", since=4),
            _cell(i, 4, number(again[i]), "cache", since=5),
            _cell(i, 5, number(error[i]), "other", since=6),
        ]
    lost = int(np.sum((again == 0) & (group != 0)))
    worst = number(float(np.abs(error).max()))
    texts = (
        f"Six weights of a row, 16 bits each: {2 * len(group)} bytes.",
        f"The largest, sign left out, is {number(abs(group[top]))}.",
        f"INT4 counts from −7 to 7, so the scale is {number(abs(group[top]))} / 7 = "
        f"{number(scale)}.",
        f"Each weight is divided by {number(scale)}.",
        "Round to the nearest whole number: four bits each, two's complement.",
        f"To use a weight, its code is multiplied by {number(scale)} again.",
        f"The worst is off by {worst}, within half a scale ({number(scale / 2)}); "
        f"{lost} of {len(group)} weights became zero.",
    )
    stored = [str(2 * len(group))] * 4 + [f"{len(group) // 2} + scale"] * 3
    shown = ["", "", *[number(scale)] * 5]
    frames = [
        Frame(text, (shown[i] or "–", stored[i], worst if i == 6 else "–"))
        for i, text in enumerate(texts)
    ]
    return StepLog(tuple(frames), {"cells": cells})


# A small layer for GPTQ: three outputs, six inputs that go up and down together. Its
# weights have two digits and its scales are a tenth, so that what is printed adds up.
OUTPUTS, INPUTS, NUM_ROWS = 3, 6, 200
LARGEST, DIGITS = 0.7, (-4, -3, -2, -1, 1, 2, 3, 4)  # no weight halfway between codes
TOTAL = INPUTS + 0.3  # where the column of the sums begins
OTHER_SUM = TOTAL + 1.15
SHOWN = 3866  # the layer of the figure; gptq_gains() tells of the usual ones


@cache
def small_layer(seed: int = SHOWN) -> tuple[np.ndarray, np.ndarray]:
    """A weight [3, 6], and inputs [200, 6] that are correlated."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((NUM_ROWS, 1))
    rows = common + 0.5 * rng.standard_normal((NUM_ROWS, INPUTS))
    tenths = rng.integers(-6, 7, (OUTPUTS, INPUTS))
    weight = (10 * tenths + rng.choice(DIGITS, (OUTPUTS, INPUTS))) / 100
    for row in weight:
        row[rng.integers(INPUTS)] = rng.choice([-LARGEST, LARGEST])
    return weight, rows


def gptq_gains(num_layers: int = 60) -> list[float]:
    """Error to nearest over error by GPTQ of the outputs, for many small layers."""
    whole(of="layer", most=10_000, num_layers=num_layers)
    found = []
    for seed in range(num_layers):
        weight, rows = small_layer(seed)
        both = (rtn(weight, TOY), gptq(weight, rows, TOY))
        nearest, better = (output_error(weight, each, rows) for each in both)
        found.append(nearest / better)
    return found


def gptq_columns() -> StepFigure:
    """GPTQ: a column a frame is rounded, its error pushed onto those to come."""
    weight, rows = small_layer()
    pushed = [weight, *(step.weight for step in columns(weight, rows, TOY))]
    nearest = rtn(weight, TOY)
    alone = [np.where(np.arange(INPUTS) < at, nearest, weight) for at in range(7)]
    names = [
        {
            "x": INPUTS / 2,
            "y": -0.35,
            "text": "each row makes one output",
        },
        {"x": INPUTS / 2, "y": 3.65, "text": "moved from the original by"},
        {"x": TOTAL + WIDTH / 2, "y": 3.65, "text": "sum"},
    ]
    return StepFigure(
        name="gptq-columns",
        title="GPTQ makes the moves of each row cancel; rounding to nearest does not",
        scene=Scene(
            x=SceneAxis((-0.1, OTHER_SUM + 1.1), shown=False),
            y=SceneAxis((7.1, -0.8), shown=False),
            marks=(
                Cells(table="cells", x2="x2", text="text"),
                Labels(table="names"),
                Labels(table="beside"),
            ),
            height=240,
            width=580,
            fixed={"names": names},
        ),
        logs={
            "GPTQ": _rounding_log(rows, pushed, alone, GPTQ_SAYS),
            "round to nearest": _rounding_log(rows, alone, pushed, NEAREST_SAYS),
        },
        stills=(("GPTQ", 1), ("GPTQ", 6), ("round to nearest", 6)),
        legend={
            "weights": "not yet rounded",
            "new": "rounded to a multiple of 0.10, the same both ways",
            "B": "GPTQ and rounding to nearest choose different codes",
            "other": "sum of a row’s moves: change of the output if every input is 1",
        },
        counters=(
            Counter("columns rounded"),
            Counter("error of the outputs so far"),
        ),
        start=INPUTS,
    )


@dataclass(frozen=True)
class Says:
    """What a way of rounding says at the start, after a column and at the end."""

    other: str
    first: str
    column: str
    last: str


GPTQ_SAYS = Says(
    "RTN",
    f"Three outputs, {INPUTS} inputs that rise and fall together.",
    "Column {at} is rounded; the columns to its right move so that the outputs on the "
    "calibration data stay as near as they can.",
    "{differ} of {all} weights go to another code than the nearest: the moves of each "
    "row cancel, and the outputs are off by {error:.1%}.",
)
NEAREST_SAYS = Says(
    "GPTQ",
    "The same layer, rounded to nearest.",
    "Column {at} is rounded; no other column takes notice.",
    "No weight moves by more than half a scale, but the moves of each row add up, and "
    "the outputs are off by {error:.1%}.",
)


def _rounding_log(
    rows: np.ndarray, states: list[np.ndarray], others: list[np.ndarray], says: Says
) -> StepLog:
    """Frames of one way of rounding, with the row sums of the other at the end."""
    weight, last = states[0], len(states) - 1
    differ = np.abs(states[-1] - others[-1]) > 1e-6
    frames, cells = [], list[Row]()
    for at, left in enumerate(states):
        error = output_error(weight, left, rows)
        text = says.column if at < last else says.last
        known = {"at": at, "error": error, "differ": differ.sum(), "all": differ.size}
        text = (text if at else says.first).format(**known)
        frames.append(Frame(text, (f"{at} of {INPUTS}", f"{error:.1%}")))
        cells += _matrix(left, left - weight, at, differ)
    for row, total in enumerate(_sums(others[-1] - weight)):
        place = _cell(OTHER_SUM, row + 4, number(total), "empty", since=last)
        cells.append(place | {"until": last + 1})
    beside = [
        {"x": OTHER_SUM + WIDTH / 2, "y": 3.65, "text": says.other, "since": last}
    ]
    return StepLog(tuple(frames), {"cells": _merged(cells), "beside": beside})


def _sums(moved: np.ndarray) -> list[float]:
    """Row sums of the moves as they are printed."""
    return [float(total) for total in np.round(moved, 2).sum(axis=1)]


def _matrix(
    left: np.ndarray, moved: np.ndarray, frame: int, differ: np.ndarray
) -> list[Row]:
    """The cells of one frame: the weights above, by how much they moved below."""
    cells, life = [], {"since": frame, "until": frame + 1}
    for (row, column), x in np.ndenumerate(left):
        done = "B" if differ[row, column] else "new"
        ink = done if column < frame else "weights"
        cells.append(_cell(column, row, number(float(x)), ink, **life))
        ink = "B" if ink == "B" else "empty"
        by = number(float(moved[row, column]))
        cells.append(_cell(column, row + 4, by, ink, **life))
    for row, total in enumerate(_sums(moved)):
        cells.append(_cell(TOTAL, row + 4, number(total), "other", **life))
    return cells


def _merged(cells: list[Row]) -> list[Row]:
    """Cells that stay as they are from frame to frame, written once."""
    runs: dict[tuple[float, int], list[Row]] = {}
    for cell in cells:
        before = runs.setdefault((cell["x"], cell["y"]), [])
        known = before[-1] if before else {}
        same = all(known.get(key) == cell[key] for key in ("text", "ink"))
        if same and known["until"] == cell["since"]:
            known["until"] = cell["until"]
        else:
            before.append(dict(cell))
    return [cell for run in runs.values() for cell in run]
