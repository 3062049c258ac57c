"""Collectives on four GPUs, stepped as executed: ring, one and two shots, switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llmserve_lab.collectives import ring_trace
from llmserve_lab.collectives.ring_trace import Held, Logged, RingStep
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Links, Scene, SceneAxis
from llmserve_lab.page.step.pictures import lifetimes

Row = dict[str, Any]
GPUS = 4
CHUNKS = "abcd"
PLACES = ((0.0, 1.0), (6.0, 1.0), (6.0, 4.6), (0.0, 4.6))  # of each GPU's first cell
FLOAT = 8  # bytes of a number in NumPy
SPACE = 4 * "\N{NO-BREAK SPACE}"  # between the numbers of a copy
THIN = 0.33  # height of a copy that arrived
COLLECTIVES: dict[str, Callable[[Logged], None]] = {
    "ring": ring_trace.all_reduce,
    "one-shot": ring_trace.one_shot,
    "two-shot": ring_trace.two_shot,
    "in the switch": ring_trace.in_switch,
}
SWITCH = (3.0, 2.8)  # its first cell


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
                Cells(table="copies", x2="x2", y2="y2", text="text"),
                Labels(table="words"),
            ),
            height=270,
        ),
        logs=logs,
        stills=((ring, 1), (ring, 3), ("one-shot", 1)),
        start=1,
        legend={
            "compute": "a GPU's own number, or a part of a sum",
            "communication": "just exchanged, not complete",
            "new": "complete sum",
            "empty": "nothing yet",
        },
        counters=(
            Counter("steps"),
            Counter("numbers each GPU has sent"),
            Counter("complete sums on GPU 0"),
        ),
    )


def _log(name: str, made: Callable[[Logged], None]) -> StepLog:
    if made is ring_trace.one_shot:
        return _in_copies()
    start = ring_trace.numbers(GPUS)
    through = made is ring_trace.in_switch
    ranks = ring_trace.play(made, [*start, [None] * GPUS] if through else start)
    sums = [
        sum(column) for column in zip(*_plain(ring_trace.numbers(GPUS)), strict=True)
    ]
    frames = [
        Frame(
            _sentence(made, steps),
            (float(steps), state.sent_bytes / FLOAT, _complete(state, sums)),
        )
        for steps, state in enumerate(ranks[0])
    ]
    cells = [row for gpu, steps in enumerate(ranks) for row in _cells(gpu, steps, sums)]
    links = [row for gpu in range(GPUS) for row in _links(gpu, ranks[gpu], made)]
    tables = {"cells": cells, "links": links, "words": _words(through), "copies": []}
    return StepLog(tuple(frames), tables)


def _in_copies() -> StepLog:
    """One shot in three frames: own numbers, what arrives, and the sums."""
    ranks = ring_trace.play(ring_trace.one_shot, ring_trace.numbers(GPUS))
    own = [steps[0].held for steps in ranks]
    sums = [sum(column) for column in zip(*_plain(own), strict=True)]
    after = ranks[0][-1]
    sent = after.sent_bytes / FLOAT
    frames = (
        Frame(OWN, (0.0, 0.0, 0.0)),
        Frame(AT_ONCE[ring_trace.one_shot][0], (1.0, sent, 0.0)),
        Frame(SUMMED, (1.0, sent, _complete(after, sums))),
    )
    cells, copies, links = list[Row](), list[Row](), list[Row]()
    for gpu, steps in enumerate(ranks):
        held = RingStep(steps[-1].held)  # the sums: complete, no longer just exchanged
        cells += _cells(gpu, [steps[0], steps[0], held], sums)
        copies += _copies(gpu, own)
        found = _links(gpu, steps, ring_trace.one_shot)
        links += [row for row in found if row["x"] != row["x2"]]  # copies hide the rest
    tables = {"cells": cells, "links": links, "words": _words(False), "copies": copies}
    return StepLog(frames, tables)


def _copies(gpu: int, own: Sequence[Held]) -> list[Row]:
    """The tensors of the others, on the inner side of a GPU's own."""
    x, y = PLACES[gpu]
    upper = gpu < GPUS // 2
    rows = list[Row]()
    for place, other in enumerate(o for o in range(GPUS) if o != gpu):
        top = y + 1.06 + THIN * place if upper else y - 0.45 - THIN * (place + 1)
        at: Row = {"y": round(top, 2), "y2": round(top + THIN - 0.02, 2)}
        at |= {"ink": "communication", "since": 1, "until": 2}
        text = SPACE.join(f"{number:g}" for number in _plain([own[other]])[0])
        rows.append({"x": x, "x2": x + GPUS, "text": text, **at})
    return rows


def _plain(held: Sequence[Sequence[float | None]]) -> list[list[float]]:
    return [[each or 0.0 for each in row] for row in held]


def _complete(step: RingStep, sums: Sequence[float]) -> float:
    return float(sum(a == b for a, b in zip(step.held, sums, strict=True)))


def _cells(gpu: int, steps: Sequence[RingStep], sums: Sequence[float]) -> list[Row]:
    """The four chunks of a GPU in every frame."""
    x, y = SWITCH if gpu == GPUS else PLACES[gpu]
    snapshots = []
    for step in steps:
        there = {}
        for chunk, held in enumerate(step.held):
            ink = "communication" if chunk in step.came else "compute"
            ink = "new" if held == sums[chunk] else ink
            ink = "empty" if held is None else ink
            text = "" if held is None else f"{held:g}"
            faint = 0.4 if held is None else 1.0
            row = {"x": x + chunk, "y": y, "ink": ink, "text": text, "faint": faint}
            there[chunk] = row
        snapshots.append(there)
    return lifetimes(snapshots)


def _words(through: bool) -> list[Row]:
    """Names of GPUs, of chunks, and of the switch where it takes part."""
    found: list[Row] = []
    if through:
        x, y = SWITCH
        found.append({"x": x - 0.7, "y": y + 0.5, "text": "switch"})
    for gpu, (x, y) in enumerate(PLACES):
        name = y - 0.7 if gpu < GPUS // 2 else y + 1.35
        found.append({"x": x + 2, "y": name, "text": f"GPU {gpu}"})
        side = y - 0.22
        found += [{"x": x + c + 0.5, "y": side, "text": CHUNKS[c]} for c in range(4)]
    return found


def _links(
    gpu: int, steps: Sequence[RingStep], made: Callable[[Logged], None]
) -> list[Row]:
    """The messages of a GPU: to its neighbour, to all others, or to the switch."""
    if made is ring_trace.in_switch:
        there = _to_switch(gpu)
        back = {"x": there["x2"], "y": there["y2"], "x2": there["x"], "y2": there["y"]}
        return [
            {**there, "text": "", "since": 1, "until": 2},
            {**there, **back, "text": "", "since": 2, "until": 3},
        ]
    if made in AT_ONCE:
        others = [other for other in range(GPUS) if other != gpu]
        return [
            {**_between(gpu, other), "text": "", "since": 1, "until": len(steps)}
            for other in others
        ]
    following = (gpu + 1) % GPUS
    return [
        {
            **_between(gpu, following, step.went[0]),
            "text": CHUNKS[step.went[0]],
            "since": frame,
            "until": frame + 1,
        }
        for frame, step in enumerate(steps)
        if step.went
    ]


def _to_switch(gpu: int) -> Row:
    """From the inner side of a GPU to the switch."""
    (x, y), (x2, y2) = PLACES[gpu], SWITCH
    upper = y < y2
    ends = {"x": x + 2.0, "x2": x2 + (1.0 if x < x2 else 3.0)}
    ends |= {"y": y + 1 if upper else y - 0.4, "y2": y2 if upper else y2 + 1}
    return {**ends, "ink": "communication"}


def _between(gpu: int, other: int, chunk: int | None = None) -> Row:
    """From one GPU to another; up and down at the place of the chunk that goes."""
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
            place = (2.5 if down else 1.5) if chunk is None else chunk + 0.5
            ends["x"] = ends["x2"] = x + place
    return {**ends, "ink": "communication"}


OWN = "Each GPU holds four numbers of its own: one chunk is one number here."
SUMMED = "Each GPU adds up the four tensors for itself: nothing more is sent."
AT_ONCE: dict[Callable[[Logged], None], tuple[str, ...]] = {
    ring_trace.one_shot: (
        "One shot: every GPU sends all its numbers to every other one, so three whole "
        "copies arrive. One step, but twice as many numbers as on a ring of four.",
    ),
    ring_trace.two_shot: (
        "First shot: every GPU gets one chunk from all others and adds it up.",
        "Second shot: every GPU sends its finished sum to all others. Two steps, and "
        "as many numbers as on a ring.",
    ),
    ring_trace.in_switch: (
        "Every GPU sends its four numbers to the switch once. The switch adds up.",
        "The switch sends the sums back to all GPUs at the same time.",
    ),
}


def _sentence(made: Callable[[Logged], None], step: int) -> str:
    """What a step did."""
    if made in AT_ONCE:
        return (OWN, *AT_ONCE[made])[step]
    last = GPUS - 1
    if not step:
        return (
            "Each GPU holds four numbers of its own, a chunk each. All four sums are "
            "wanted."
        )
    if step > last:
        said = "All-gather: each GPU passes a finished sum on to the next one"
        return f"{said}. Now all have all four." if step == 2 * last else f"{said}."
    said = "Reduce-scatter: each GPU passes a chunk on to the next, which adds its own"
    if step == last:
        return f"{said}. Each GPU now has one finished sum."
    return f"{said}."
