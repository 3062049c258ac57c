"""Collectives on four GPUs, stepped: chunks on a ring, and one shot, as executed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llmserve_lab.cluster import rings
from llmserve_lab.cluster.rings import Logged, RingStep
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Links, Scene, SceneAxis
from llmserve_lab.page.step.pictures import lifetimes

Row = dict[str, Any]
GPUS = 4
CHUNKS = "abcd"
PLACES = ((0.0, 1.0), (6.0, 1.0), (6.0, 4.6), (0.0, 4.6))  # of each GPU's first cell
FLOAT = 8  # bytes of a number in NumPy
COLLECTIVES: dict[str, Callable[[Logged], None]] = {
    "all-reduce on a ring": rings.all_reduce,
    "reduce-scatter": rings.reduce_scatter,
    "all-gather": rings.all_gather,
    "one-shot all-reduce": rings.one_shot,
}


def collectives_on_four() -> StepFigure:
    """Four GPUs, four chunks each: what goes where in every step."""
    logs = {name: _log(name, made) for name, made in COLLECTIVES.items()}
    ring = next(iter(logs))
    return StepFigure(
        name="ring",
        title="A ring sends little in many steps, one shot sends much in one",
        scene=Scene(
            x=SceneAxis((-0.3, 10.3), shown=False),
            y=SceneAxis((6.2, 0), shown=False),
            marks=(
                Links(table="links", text="text"),
                Cells(table="cells", text="text", opacity="faint"),
                Labels(table="words"),
            ),
            height=300,
        ),
        logs=logs,
        stills=((ring, 1), (ring, 3), ("one-shot all-reduce", 1)),
        start=1,
        legend={
            "new": "a GPU's own number, or a part of the sum",
            "communication": "just received",
            "compute": "complete sum",
            "empty": "nothing yet",
        },
        counters=(
            Counter("steps"),
            Counter("numbers each GPU has sent"),
            Counter("complete sums on GPU 0"),
        ),
    )


def _log(name: str, made: Callable[[Logged], None]) -> StepLog:
    start = rings.numbers(GPUS, gathered=made is rings.all_gather)
    ranks = rings.play(made, start)
    sums = [sum(column) for column in zip(*_plain(rings.numbers(GPUS)), strict=True)]
    frames = [
        Frame(
            _sentence(made, number),
            (float(number), step.sent_bytes / FLOAT, _complete(step, sums)),
        )
        for number, step in enumerate(ranks[0])
    ]
    cells = [row for gpu in range(GPUS) for row in _cells(gpu, ranks[gpu], sums)]
    links = [row for gpu in range(GPUS) for row in _links(gpu, ranks[gpu], made)]
    return StepLog(tuple(frames), {"cells": cells, "links": links, "words": _words()})


def _plain(held: Sequence[Sequence[float | None]]) -> list[list[float]]:
    return [[each or 0.0 for each in row] for row in held]


def _complete(step: RingStep, sums: Sequence[float]) -> float:
    return float(sum(a == b for a, b in zip(step.held, sums, strict=True)))


def _cells(gpu: int, steps: Sequence[RingStep], sums: Sequence[float]) -> list[Row]:
    """The four chunks of a GPU in every frame."""
    x, y = PLACES[gpu]
    snapshots = []
    for step in steps:
        there = {}
        for chunk, held in enumerate(step.held):
            ink = "compute" if held == sums[chunk] else "new"
            ink = "communication" if chunk in step.came else ink
            ink = "empty" if held is None else ink
            text = "" if held is None else f"{held:g}"
            faint = 0.4 if held is None else 1.0
            row = {"x": x + chunk, "y": y, "ink": ink, "text": text, "faint": faint}
            there[chunk] = row
        snapshots.append(there)
    return lifetimes(snapshots)


def _words() -> list[Row]:
    """Names of GPUs and of chunks."""
    found: list[Row] = []
    for gpu, (x, y) in enumerate(PLACES):
        name = y - 0.7 if gpu < GPUS // 2 else y + 1.35
        found.append({"x": x + 2, "y": name, "text": f"GPU {gpu}"})
        side = y - 0.22
        found += [{"x": x + c + 0.5, "y": side, "text": CHUNKS[c]} for c in range(4)]
    return found


def _links(
    gpu: int, steps: Sequence[RingStep], made: Callable[[Logged], None]
) -> list[Row]:
    """The messages of a GPU: to its neighbour, or to all others."""
    if made is rings.one_shot:
        others = [other for other in range(GPUS) if other != gpu]
        return [
            {**_between(gpu, other), "text": "", "since": 1, "until": 2}
            for other in others
        ]
    following = (gpu + 1) % GPUS
    return [
        {
            **_between(gpu, following),
            "text": CHUNKS[step.went[0]],
            "since": frame,
            "until": frame + 1,
        }
        for frame, step in enumerate(steps)
        if step.went
    ]


def _between(gpu: int, other: int) -> Row:
    """From the side of one GPU to the side of another."""
    (x, y), (x2, y2) = PLACES[gpu], PLACES[other]
    ends = {"x": x + 2.0, "y": y + 0.5, "x2": x2 + 2.0, "y2": y2 + 0.5}
    if y == y2:
        ends["x"], ends["x2"] = (x + 4, x2) if x < x2 else (x, x2 + 4)
        shift = -0.3 if x < x2 else 0.3
        ends["y"] += shift
        ends["y2"] += shift
    else:
        down = y < y2
        ends["y"], ends["y2"] = (y + 1, y2 - 0.4) if down else (y - 0.4, y2 + 1)
        if x == x2:
            shift = 0.5 if down else -0.5
            ends["x"] += shift
            ends["x2"] += shift
    return {**ends, "ink": "communication"}


def _sentence(made: Callable[[Logged], None], step: int) -> str:
    """What a step did."""
    if made is rings.one_shot:
        return (
            "Each GPU holds four numbers of its own: one chunk is one number here.",
            "One shot: every GPU sends all its numbers to every other one, and each "
            "adds up for itself. One step, but twice as many numbers as on the ring.",
        )[step]
    last = GPUS - 1
    if not step:
        return (
            "Each GPU has one finished sum; each is to have all four."
            if made is rings.all_gather
            else "Each GPU holds four numbers of its own, a chunk each. All four sums "
            "are wanted."
        )
    if made is rings.all_gather or step > last:
        ends = step in (last, 2 * last) and (made is rings.all_gather or step > last)
        said = "Each GPU passes a finished sum on to the next one"
        return f"{said}: now all have all four." if ends else f"{said}."
    said = "Each GPU passes a chunk on to the next one, which adds its own number"
    if step == last:
        return f"{said}. Each GPU now has one finished sum: a reduce-scatter."
    return f"{said}."
