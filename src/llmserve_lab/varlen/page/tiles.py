"""Padding, masking and varlen, stepped: the tiles that each kernel visits, in order.

All three kernels ran on the same queries and keys, and their results agree; what is
drawn is the record of their visits.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.transformer import masked_attention, varlen_attention
from llmserve_lab.transformer.packing import Packing, cumulative
from llmserve_lab.transformer.tiling import Tile, tiles

LENGTHS, SIDE = (3, 8, 5), 4  # tokens of A, B and C; rows and keys of a tile
WAYS = {"padded": "padding", "masked": "masking", "varlen": "varlen"}
LEFT = {"padded": 0.0, "masked": 12.6, "varlen": 33.2}  # where each panel begins
STRIP = 1.4  # width of the strip of rows, and the gap behind it
LOGS = {"every tile": False, "the future skipped": True}
Row = dict[str, Any]


def longest() -> int:
    """Tokens to which padding stretches every request."""
    return max(LENGTHS)


def packing(way: str) -> Packing:
    """Where the requests lie in the stack of rows, padded or end to end."""
    padded = [longest()] * len(LENGTHS)
    lengths = padded if way == "padded" else LENGTHS
    return Packing(cumulative(lengths), (0,) * len(LENGTHS))


def visits(way: str, *, skip: bool) -> list[Tile]:
    """The tiles of one way, in the order of its kernel.

    With ``skip`` those are left out whose keys all come after their rows, as a causal
    kernel does; a masking kernel still visits the tiles between two requests.
    """
    kernel = masked_attention if way == "masked" else varlen_attention
    every = tiles(kernel(packing(way)), SIDE)
    return [each for each in every if not (skip and each.keys.start >= each.rows.stop)]


def empty_skipped(way: str) -> int:
    """Tiles of a kernel that leaves out all in which no pair is allowed."""
    kernel = masked_attention if way == "masked" else varlen_attention
    return len(list(tiles(kernel(packing(way)), SIDE, skip=True)))


def owner(way: str, row: int) -> tuple[str, int]:
    """Whose row it is, and which of its tokens; ``idle`` and -1 for padding."""
    bounds = pairwise(packing(way).cu_seqlens)
    for letter, length, (start, end) in zip("ABC", LENGTHS, bounds, strict=True):
        if start <= row < end:
            at = row - start
            return (letter, at) if at < length else ("idle", -1)
    raise ValueError(f"row must be one of the stack, got {row}")


def tiles_visited() -> StepFigure:
    """Three squares side by side, filled by the three kernels, a tile a step."""
    logs = {name: _log(skip) for name, skip in LOGS.items()}
    first, second = logs
    return StepFigure(
        name="tiles",
        title="The same three requests, three kernels: varlen visits the fewest tiles",
        scene=Scene(
            x=SceneAxis((-0.2, 55), shown=False),
            y=SceneAxis((26.6, -2.4), shown=False),
            marks=(
                Cells(table="fields", x2="x2", y2="y2"),
                Cells(table="pairs", x2="x2", y2="y2"),
                Labels(table="words"),
            ),
            height=280,
            width=500,
            fixed={"fields": _fields()},
        ),
        logs=logs,
        start=9,
        stills=((first, 4), (first, 9), (second, 9)),
        legend={
            **{letter: f"useful for request {letter}" for letter in "ABC"},
            "idle": "computed for nothing",
            "empty": "not computed",
        },
        counters=tuple(Counter(f"tiles, {way}") for way in WAYS),
    )


def _fields() -> list[Row]:
    """What could be computed, and before it the strip of rows, by their requests."""
    found = []
    for way, left in LEFT.items():
        for x, y, side in squares_of(way):
            x += left + STRIP
            found.append(_cell(x, x + side, y, y + side, "empty"))
        for row in range(packing(way).n_rows):
            y = drawn_at(way, row)
            found.append(_cell(left, left + 1, y, y + 1, owner(way, row)[0]))
    return found


def squares_of(way: str) -> list[tuple[float, int, int]]:
    """Squares that a way computes, as drawn: left, top and side of each."""
    if way == "masked":
        return [(0.0, 0, packing(way).n_rows)]
    found = []
    for start, end in pairwise(packing(way).cu_seqlens):
        top, side = drawn_at(way, start), -(-(end - start) // SIDE) * SIDE
        found.append((0.0 if way == "padded" else float(top), top, side))
    return found


def side_of(way: str) -> int:
    """Places along a panel: those of the stack, for varlen in whole tiles."""
    return drawn_at(way, packing(way).n_rows - 1) // SIDE * SIDE + SIDE


def drawn_at(way: str, row: int) -> int:
    """Where a row is drawn: for varlen each request begins a tile of its own."""
    if way != "varlen":
        return row
    at = 0
    for length, start in zip(LENGTHS, packing(way).cu_seqlens, strict=False):
        if row < start + length:
            return at + row - start
        at += -(-length // SIDE) * SIDE
    raise ValueError(f"row must be one of the stack, got {row}")


def _cell(x: float, x2: float, y: float, y2: float, ink: str) -> Row:
    return {"x": round(x, 1), "x2": round(x2, 1), "y": y, "y2": y2, "ink": ink}


def _log(skip: bool) -> StepLog:
    """A frame for each step; in a step every kernel that is not done visits a tile.

    Before the first step there are only the rows.
    """
    seen = {way: visits(way, skip=skip) for way in WAYS}
    steps = max(map(len, seen.values()))
    frames = [
        Frame(_sentence(seen, step), _counters(seen, step)) for step in range(steps + 1)
    ]
    pairs = [
        row
        for way, found in seen.items()
        for step, tile in enumerate(found, start=1)
        for row in _drawn(way, tile, step)
    ]
    return StepLog(tuple(frames), {"pairs": pairs, "words": _words(seen)})


def _drawn(way: str, tile: Tile, since: int) -> list[Row]:
    """Runs of useful pairs and of the others, row by row, of the whole tile."""
    found: list[Row] = []
    top, first = (drawn_at(way, part.start) for part in (tile.rows, tile.keys))
    if way == "padded":
        first -= top // longest() * longest()
    left = LEFT[way] + STRIP + first
    whole = np.zeros((SIDE, SIDE), dtype=bool)
    whole[: tile.seen.shape[0], : tile.seen.shape[1]] = tile.seen
    for i, seen in enumerate(whole):
        inside = i < len(tile.seen)
        letter = owner(way, tile.rows.start + i)[0] if inside else "idle"
        for start, end, ink in _runs([letter if may else "idle" for may in seen]):
            row = _cell(left + start, left + end, top + i, top + i + 1, ink)
            found.append(row | {"since": since})
    return found


def _runs(inks: Sequence[str]) -> list[tuple[int, int, str]]:
    """Neighbours of one ink as start, end, ink."""
    found: list[tuple[int, int, str]] = []
    for at, ink in enumerate(inks):
        if found and found[-1][2] == ink:
            found[-1] = (found[-1][0], at + 1, ink)
        else:
            found.append((at, at + 1, ink))
    return found


def _words(seen: dict[str, list[Tile]]) -> list[Row]:
    """The name of each way above its square, and below it when it is done."""
    found = []
    for way, left in LEFT.items():
        height = side_of(way)
        width = longest() if way == "padded" else height
        middle = round(left + STRIP + width / 2, 1)
        found.append({"x": middle, "y": -1.2, "text": way})
        done = {"text": f"done: {len(seen[way])} tiles", "since": len(seen[way])}
        found.append({"x": middle, "y": height + 1.6, **done})
    return found


def _useful(way: str, found: Sequence[Tile]) -> int:
    """Pairs of real tokens in these tiles that the mask allows."""
    return sum(
        int(seen.sum())
        for tile in found
        for row, seen in enumerate(tile.seen, start=tile.rows.start)
        if owner(way, row)[0] != "idle"
    )


def _counters(seen: dict[str, list[Tile]], step: int) -> tuple[str, ...]:
    return tuple(f"{min(step, len(f))} of {len(f)}" for f in seen.values())


def _sentence(seen: dict[str, list[Tile]], step: int) -> str:
    """How many of the useful pairs are there, and which kernel has just finished."""
    if step == 0:
        padded, packed = (packing(way).n_rows for way in ("padded", "varlen"))
        return f"{padded} rows with padding, {packed} without; no pair is computed yet."
    total = _useful("varlen", seen["varlen"])
    have = [f"{way} {_useful(way, found[:step])}" for way, found in seen.items()]
    plural = "steps" if step > 1 else "step"
    text = f"After {step} {plural}, of {total} useful pairs: {', '.join(have)}."
    for way, found in seen.items():
        if step == len(found):
            text += f" {WAYS[way].capitalize()} is done."
    return text
