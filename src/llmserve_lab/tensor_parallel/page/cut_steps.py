"""Matrices cut by columns, by rows and both, stepped on the numbers of two GPUs.

What is drawn is what the ranks of :mod:`llmserve_lab.tensor_parallel.small_matrices`
held.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.tensor_parallel import small_matrices
from llmserve_lab.tensor_parallel.small_matrices import CutProduct
from llmserve_lab.transformer.arithmetic import Array

Row = dict[str, Any]
APART, LEFT, TOP = 6.9, 1.5, 1.3  # of two GPUs; of a matrix in its GPU; of the first
GAP, NEXT = 0.35, 1.95  # from a matrix to its product; from there to the next matrix
FLOAT = 8  # bytes of a number in NumPy
LEGEND = {
    "weights": "weights",
    "new": "complete numbers",
    "compute": "part of a sum",
    "empty": "on the other GPU",
}
COUNTERS = (
    Counter("weights on each GPU"),
    Counter("numbers each GPU has sent"),
    Counter("exchanges"),
)
ONE = {"by columns": "columns", "by rows": "rows"}
TWO = {"columns, then rows": "paired", "columns twice": "gathered"}


def below(top: float, matrix: Array) -> float:
    """Where the product of a matrix stands that begins at ``top``."""
    return top + len(matrix) + GAP


LOW = below(TOP, small_matrices.UP) + NEXT  # top of the second matrix


def cut_by_columns_or_rows() -> StepFigure:
    """One matrix on two GPUs, cut either way."""
    logs = {name: _one(name, cut) for name, cut in ONE.items()}
    first, other = logs
    return StepFigure(
        name="cuts",
        title="A cut by columns gives finished parts, a cut by rows unfinished sums",
        scene=_scene(below(TOP, small_matrices.W) + 1.2),
        logs=logs,
        stills=((first, 1), (other, 1), (other, 2)),
        start=1,
        legend=LEGEND,
        counters=COUNTERS,
    )


def two_matrices_chained() -> StepFigure:
    """Two matrices and what lies between: with rows for the second, nothing is sent."""
    logs = {name: _two(name, cut) for name, cut in TWO.items()}
    first, other = logs
    return StepFigure(
        name="chain",
        title="Columns, then rows: one exchange for two matrices",
        scene=_scene(below(LOW, small_matrices.DOWN) + 1.2),
        logs=logs,
        stills=((first, 1), (first, 2), (other, 2)),
        start=2,
        legend=LEGEND,
        counters=COUNTERS,
    )


def _scene(height: float) -> Scene:
    return Scene(
        x=SceneAxis((0, 2 * APART - 1), shown=False),
        y=SceneAxis((height, 0), shown=False),
        marks=(
            Cells(table="cells", text="text"),
            Labels(table="words"),
        ),
        height=int(24 * height),
    )


def _cell(x: float, y: float, ink: str, number: float | None, **life: int) -> Row:
    text = "" if number is None else f"{number:g}".replace("-", "−")
    return {"x": x, "y": y, "ink": ink, "text": text, **life}


def _matrix(gpu: int, top: float, whole: Array, mine: tuple[slice, slice]) -> list[Row]:
    """The matrix of one GPU: its own weights, and pale what the other one has."""
    own = np.zeros(whole.shape, dtype=bool)
    own[mine] = True
    return [
        _cell(
            gpu * APART + LEFT + j,
            top + i,
            "weights" if own[i, j] else "empty",
            float(whole[i, j]) if own[i, j] else None,
        )
        for i, j in np.ndindex(*whole.shape)
    ]


def _down(gpu: int, top: float, values: Array, first: int, **life: int) -> list[Row]:
    """Features in, one beside each row of the matrix that it is multiplied with."""
    return [
        _cell(gpu * APART, top + first + i, "new", value, **life)
        for i, value in enumerate(values.ravel())
    ]


def _across(
    gpu: int, at: float, values: Array, first: int, ink: str, **life: int
) -> list[Row]:
    """Outputs, one under each column of the matrix."""
    return [
        _cell(gpu * APART + LEFT + first + j, at, ink, value, **life)
        for j, value in enumerate(values.ravel())
    ]


def _half(gpu: int, of: int = small_matrices.WIDTH) -> slice:
    width = of // small_matrices.RANKS
    return slice(gpu * width, (gpu + 1) * width)


ALL = slice(None)


Named = tuple[float, Array, tuple[str, str, str]]


def _words(*matrices: Named) -> list[Row]:
    """The GPUs' names, and those of input, matrix and output."""
    found: list[Row] = []
    for gpu in range(small_matrices.RANKS):
        at = gpu * APART
        found.append({"x": at + LEFT + 2, "y": 0.25, "text": f"GPU {gpu}"})
        for top, matrix, (taken, name, given) in matrices:
            middle = at + LEFT + matrix.shape[1] / 2
            under = below(top, matrix) + 0.5
            found.append({"x": at + 0.5, "y": top - 0.35, "text": taken})
            found.append({"x": middle, "y": top - 0.35, "text": name})
            found.append({"x": at + 0.6, "y": under, "text": given})
    return found


def _one(name: str, cut: str) -> StepLog:
    """Cut, multiply, exchange."""
    done = small_matrices.execute_one(cut)
    by_rows = cut == "rows"
    cells: list[Row] = []
    for gpu, share in enumerate(done.results):
        mine = (_half(gpu), ALL) if by_rows else (ALL, _half(gpu))
        cells += _matrix(gpu, TOP, small_matrices.W, mine)
        cells += _down(gpu, TOP, share.features, _half(gpu).start if by_rows else 0)
        at = below(TOP, small_matrices.W)
        cells += _outputs(gpu, at, share, by_rows, since=1, exchanged=2)
    sent = done.ledger.sent_bytes(rank=0) / FLOAT
    weights = float(done.results[0].weight.size)
    *before, last = SAID[cut]
    frames = [Frame(text, (weights, 0.0, 0.0)) for text in before]
    frames.append(Frame(last, (weights, sent, 1.0)))
    words = _words((TOP, small_matrices.W, ("x", "U", "xU")))
    return StepLog(tuple(frames), {"cells": cells, "words": words})


def _outputs(
    gpu: int,
    y: float,
    share: CutProduct,
    by_rows: bool,
    *,
    since: int,
    exchanged: int,
) -> list[Row]:
    """The product of one GPU, then what it has after the exchange."""
    half = _half(gpu, share.whole.size)
    ink, first = ("compute", 0) if by_rows else ("new", half.start)
    found = _across(gpu, y, share.product, first, ink, since=since, until=exchanged)
    return found + _across(gpu, y, share.whole, 0, "new", since=exchanged)


def _two(name: str, cut: str) -> StepLog:
    """Two matrices on top of each other; the first output is the second input."""
    done = small_matrices.execute_two(cut)
    paired = cut == "paired"
    second = 2 if paired else 3  # the frame in which the second matrix multiplies
    cells: list[Row] = []
    for gpu, (one, two) in enumerate(done.results):
        cells += _matrix(gpu, TOP, small_matrices.UP, (ALL, _half(gpu)))
        outputs = (ALL, _half(gpu, small_matrices.DOWN.shape[1]))
        mine = (_half(gpu), ALL) if paired else outputs
        cells += _matrix(gpu, LOW, small_matrices.DOWN, mine)
        cells += _down(gpu, TOP, one.features, 0)
        cells += _hidden(gpu, one, two, paired)
        at = below(LOW, small_matrices.DOWN)
        cells += _outputs(gpu, at, two, paired, since=second, exchanged=second + 1)
    first = (TOP, small_matrices.UP, ("x", "U", "z"))
    words = _words(first, (LOW, small_matrices.DOWN, ("", "D", "zD")))
    return StepLog(
        _frames_of_two(done.results[0], cut), {"cells": cells, "words": words}
    )


def _hidden(gpu: int, one: CutProduct, two: CutProduct, paired: bool) -> list[Row]:
    """The features between the matrices: under the first, and beside the second."""
    first = _half(gpu).start
    under = below(TOP, small_matrices.UP)
    found = _across(gpu, under, one.product, first, "new", since=1)
    if paired:
        return found + _down(gpu, LOW, two.features, first, since=1)
    found += _down(gpu, LOW, one.product, first, since=1, until=2)
    return found + _down(gpu, LOW, two.features, 0, since=2)


def _frames_of_two(
    shares: tuple[CutProduct, CutProduct], cut: str
) -> tuple[Frame, ...]:
    """What happened, with what had been sent by then."""
    one, two = shares
    weights = float(one.weight.size + two.weight.size)
    gather, last = float(one.product.size), float(two.product.size)
    sent = {  # on a ring of two an all-reduce sends the tensor once
        "paired": [0.0, 0.0, 0.0, last],
        "gathered": [0.0, 0.0, gather, gather, gather + last],
    }
    told, counts = SAID[cut], sent[cut]
    exchanges = [0.0, 0.0, 0.0, 1.0] if cut == "paired" else [0.0, 0.0, 1.0, 1.0, 2.0]
    return tuple(
        Frame(text, (weights, numbers, many))
        for text, numbers, many in zip(told, counts, exchanges, strict=True)
    )


SAID: Mapping[str, tuple[str, ...]] = {
    "columns": (
        "U is cut by columns: GPU 0 has the first two, GPU 1 the last two. Both have "
        "all four numbers of x.",
        "Each GPU multiplies. Its two outputs are complete: each column has looked at "
        "all of x.",
        "All-gather: each GPU sends its two outputs to the other one. Both have all "
        "four, as on one GPU.",
    ),
    "rows": (
        "U is cut by rows: GPU 0 has the first two, GPU 1 the last two. Each needs "
        "only the two numbers of x that belong to its rows.",
        "Each GPU multiplies. It has something for all four outputs, but each is only "
        "a part of the sum.",
        "All-reduce: the two parts of each sum are added. Both GPUs get all four sums, "
        "as on one GPU.",
    ),
    "paired": (
        "U is cut by columns, D by rows. Both GPUs have all of x, two numbers.",
        "Each GPU multiplies with its columns and sets negative numbers to zero "
        "(ReLU). It has two numbers of z.",
        "These are just the two that its rows of D need: nothing is sent. Each GPU has "
        "a part of both sums.",
        "All-reduce: one exchange for both matrices, and both GPUs have the result.",
    ),
    "gathered": (
        "U and D are both cut by columns. Both GPUs have all of x.",
        "Each GPU multiplies with its columns of U and sets negative numbers to zero "
        "(ReLU). It has two numbers of z.",
        "But a column of D needs all of z: an all-gather.",
        "Each GPU multiplies with its column of D: one output is complete.",
        "A second all-gather, and both GPUs have the result.",
    ),
}
