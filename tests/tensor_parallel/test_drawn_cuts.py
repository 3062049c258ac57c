"""Each cell, letter and counter of the cuts, worked out once more on whole matrices."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.tensor_parallel import small_matrices as small
from tests.page.frames import Row, counted, made, rows

Line = dict[int, tuple[str, str]]  # by place from the left: ink and text
NUMBERS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "both": 2.0}
PARTS = small.RANKS


def named(figure: StepFigure, log: str, name: str) -> list[float]:
    """Where a name stands, from the left."""
    return [r["x"] for r in figure.logs[log].tables["words"] if r["text"] == name]


def own(figure: StepFigure, log: str, at: int, gpu: int) -> list[Row]:
    """Cells of a GPU from the left: those that stand together under its name."""
    (over,) = named(figure, log, f"GPU {gpu}")
    drawn = sorted(rows(figure, log, at, "cells"), key=lambda r: r["x"])
    gaps = [b["x"] for a, b in pairwise(drawn) if b["x"] - a["x"] > 2]
    return [
        r
        for r in drawn
        if sum(r["x"] >= g for g in gaps) == sum(over > g for g in gaps)
    ]


def lines(figure: StepFigure, log: str, at: int, gpu: int) -> list[Line]:
    """Cells of a GPU line by line; place 0 is the features, 1 the first column."""
    mine = own(figure, log, at, gpu)
    left = mine[0]["x"]
    found: dict[float, Line] = {}
    for r in mine:
        place = 0 if r["x"] == left else round(r["x"] - left - 0.5)
        line = found.setdefault(round(r["y"], 3), {})
        assert place not in line, "one cell lies on another"
        line[place] = (r["ink"], r["text"])
    return [found[y] for y in sorted(found)]


def cells(values: Any, ink: str, first: int = 1) -> Line:
    flat = np.asarray(values, dtype=float).ravel()
    return {first + i: (ink, f"{v:g}".replace("-", "−")) for i, v in enumerate(flat)}


def matrix(whole: Any, own: Any, features: dict[int, float]) -> list[Line]:
    """A line each row: a feature where the GPU has one, its weights, blanks."""
    return [
        ({0: ("new", f"{features[i]:g}")} if i in features else {})
        | {
            1 + j: (cells([whole[i, j]], "weights")[1] if own[i, j] else ("empty", ""))
            for j in range(whole.shape[1])
        }
        for i in range(len(whole))
    ]


def owned(whole: Any, gpu: int, *, by_rows: bool) -> Any:
    """True where a GPU has the weight: one half of the rows or of the columns."""
    along = np.indices(whole.shape)[0 if by_rows else 1]
    return along * PARTS // whole.shape[0 if by_rows else 1] == gpu


def product(
    at: int, begun: int, x: Any, whole: Any, own: Any, *, by_rows: bool
) -> list[Line]:
    """Nothing, then what the GPU's own weights give, then all."""
    if at < begun:
        return []
    if at > begun:
        return [cells(x @ whole, "new")]
    part = (x @ (whole * own)).ravel()
    if by_rows:
        return [cells(part, "compute")]
    mine = np.flatnonzero(own[0])
    return [cells(part[mine], "new", 1 + mine[0])]


def one(log: str, at: int, gpu: int) -> list[Line]:
    by_rows = "rows" in log
    own = owned(small.W, gpu, by_rows=by_rows)
    x = dict(enumerate(small.X.ravel()))
    has = {i: v for i, v in x.items() if own[i].any()}
    given = product(at, 1, small.X, small.W, own, by_rows=by_rows)
    return matrix(small.W, own, has) + given


def two(log: str, at: int, gpu: int) -> list[Line]:
    by_rows = log == "columns, then rows"
    own = owned(small.UP, gpu, by_rows=False)
    low = owned(small.DOWN, gpu, by_rows=by_rows)
    z = np.maximum(small.NARROW @ small.UP, 0)
    mine = np.flatnonzero(own[0])
    gathered = not by_rows and at >= 2
    held = {int(i): z[0, i] for i in (range(4) if gathered else mine) if at}
    upper = matrix(small.UP, own, dict(enumerate(small.NARROW.ravel())))
    upper += [cells(z[0, mine], "new", 1 + mine[0])] if at else []
    given = product(at, 2 if by_rows else 3, z, small.DOWN, low, by_rows=by_rows)
    return upper + matrix(small.DOWN, low, held) + given


CUTS: dict[str, Callable[[str, int, int], list[Line]]] = {
    "cut_by_columns_or_rows": one,
    "two_matrices_chained": two,
}
# What the GPUs have sent by each frame: half of a gather, a whole tensor of a ring.
SENT = {
    ("cut_by_columns_or_rows", "by columns"): (0, 0, 4 / 2),
    ("cut_by_columns_or_rows", "by rows"): (0, 0, 4),
    ("two_matrices_chained", "columns, then rows"): (0, 0, 0, 2),
    ("two_matrices_chained", "columns twice"): (0, 0, 4 / 2, 4 / 2, 4 / 2 + 2 / 2),
}


@pytest.mark.parametrize(("name", "log"), SENT)
def test_every_cell_of_a_cut_is_the_product_of_its_own_weights(
    name: str, log: str
) -> None:
    figure, sent = made(f"tensor_parallel.{name}"), SENT[name, log]
    assert len(figure.logs[log].frames) == len(sent)
    for at in range(len(sent)):
        for gpu in range(PARTS):
            assert lines(figure, log, at, gpu) == CUTS[name](log, at, gpu), (at, gpu)
        drawn = rows(figure, log, at, "cells")
        weights = [r for r in drawn if r["ink"] == "weights"]
        assert counted(figure, log, at) == {
            "weights on each GPU": len(weights) / PARTS,
            "numbers each GPU has sent": sent[at],
            "exchanges": len({*sent[: at + 1]} - {0}),
        }


# What a sentence counts, and how many such cells a GPU has in its frame, or had before.
TOLD: dict[str, Callable[[list[Line], list[Line]], float]] = {
    r"has the first (\w+),": lambda now, _: weighed(now),
    r"GPU 1 the last (\w+)\.": lambda now, _: weighed(now),
    r"have all (\w+) numbers of x": lambda now, _: features(now),
    r"have all of x, (\w+) numbers": lambda now, _: features(now),
    r"needs only the (\w+) numbers of x": lambda now, _: features(now),
    r"Its (\w+) outputs are complete": lambda now, _: len(now[-1]),
    r"something for all (\w+) outputs": lambda now, _: len(now[-1]),
    r"sends its (\w+) outputs": lambda _, before: len(before[-1]),
    r"Both have all (\w+), as": lambda now, _: len(now[-1]),
    r"get all (\w+) sums": lambda now, _: len(now[-1]),
    r"It has (\w+) numbers of z": lambda now, _: len(now[2]),
    r"just the (\w+) that its rows of D": lambda now, _: features(now[3:]),
    r"a part of (\w+) sums": lambda now, _: len(now[-1]),
    r"its column of D: (\w+) output": lambda now, _: len(now[-1]),
}


def features(drawn: list[Line]) -> float:
    return sum(0 in line for line in drawn)


def weighed(drawn: list[Line]) -> float:
    """Columns, or rows, in which a GPU has weights."""
    own = [{j for j, c in line.items() if c[0] == "weights"} for line in drawn]
    full = [each for each in own if each]
    return len(full) if len(full) < small.WIDTH else len(full[0])


@pytest.mark.parametrize("name", CUTS)
def test_what_a_sentence_of_a_cut_counts_is_drawn(name: str) -> None:
    figure, read = made(f"tensor_parallel.{name}"), set[str]()
    for log, played in figure.logs.items():
        for at, frame in enumerate(played.frames):
            now, before = (lines(figure, log, max(i, 0), 0) for i in (at, at - 1))
            for words, count in TOLD.items():
                if found := re.search(words, frame.sentence):
                    assert NUMBERS[found[1]] == count(now, before), frame.sentence
                    read.add(found[1])
            for words, ink in (("complete", "new"), ("only a part", "compute")):
                if words in frame.sentence:
                    assert {each for each, _ in now[-1].values()} == {ink}
    assert read


def letters(figure: StepFigure, log: str, gpu: int) -> list[tuple[str, str]]:
    """Words of a GPU in their order: over features or a matrix, or before a product."""
    end = len(figure.logs[log].frames) - 1
    mine = own(figure, log, end, gpu)
    left = mine[0]["x"]
    columns = {r["x"] for r in mine} - {left}
    middle = (min(columns) + max(columns) + 1) / 2
    words = [r for r in figure.logs[log].tables["words"] if -1 < r["x"] - left < 5]
    found = []
    for r in sorted(words, key=lambda r: (r["y"], r["x"])):
        below = [c for c in mine if 0 < c["y"] - r["y"] < 0.5]
        row = [c for c in mine if c["y"] < r["y"] < c["y"] + 1]
        if below and r["x"] == left + 0.5:
            found.append(("features", str(r["text"])))
        elif below:
            middle = np.mean([c["x"] + 0.5 for c in below if c["x"] != left])
            assert r["x"] == pytest.approx(middle)
            found.append(("matrix", str(r["text"])))
        elif row:
            assert r["x"] < min(c["x"] for c in row)
            found.append(("product", str(r["text"])))
    return found


@pytest.mark.parametrize("name", CUTS)
def test_a_letter_stands_over_its_matrix_and_beside_its_numbers(name: str) -> None:
    """x over the features, U over the first matrix, products beside their numbers."""
    first = [("features", "x"), ("matrix", "U")]
    chain = [("product", "z"), ("features", ""), ("matrix", "D"), ("product", "zD")]
    rest = chain if name == "two_matrices_chained" else [("product", "xU")]
    for log in made(f"tensor_parallel.{name}").logs:
        for gpu in range(PARTS):
            assert letters(made(f"tensor_parallel.{name}"), log, gpu) == first + rest
