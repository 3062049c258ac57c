"""The cache runs out, stepped: admission by free blocks, and preemption."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from llmserve_lab.continuous_batching.machine import replayed
from llmserve_lab.continuous_batching.occupancy import frames, held_blocks, logged
from llmserve_lab.continuous_batching.workloads import LETTERS, short_of_blocks
from llmserve_lab.engine import Continuous
from llmserve_lab.engine.metrics.iteration_log import IterationFrame as Iteration
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis

BLOCKS, BLOCK_TOKENS = 8, 16
WAITS, NOTES = ("1st in queue", "2nd in queue"), ("what happens", " ")
ROWS = (*(f"block {i}" for i in range(BLOCKS, 0, -1)), *WAITS, *NOTES)
A, B, C = range(3)
Row = dict[str, Any]


def watched() -> list[Iteration]:
    """Three requests in a cache of eight blocks, iteration by iteration.

    No iteration has as many rows as are recorded.
    """
    machine = replayed()
    return frames(logged(short_of_blocks(), Continuous(), machine, kv_blocks=BLOCKS))


def blocks_run_out() -> StepFigure:
    """How many blocks each request holds, and which wait for some."""
    run = watched()
    log = StepLog(
        tuple(_frame(run, at, sentence) for at, sentence in _story(run)),
        {"held": _held(run), "waits": _waits(run), "notes": _notes(run)},
    )
    name = "continuous batching"
    return StepFigure(
        name="blocks",
        title="No block is free: the last one admitted is thrown out and read again",
        scene=Scene(
            x=SceneAxis((0, len(run)), "iterations done"),
            y=SceneAxis(ROWS),
            marks=(
                Cells(table="held", x2="x2", text="text", grows=True),
                Cells(table="waits", x2="x2", opacity="faint", grows=True),
                Labels(table="waits", align="left", grows=True),
                Labels(table="notes", align="left"),
            ),
            height=178,
        ),
        logs={name: log},
        start=len(log.frames) - 1,
        stills=((name, 1), (name, 3), (name, 6)),
        legend={
            "A": "request A",
            **{letter: f"request {letter} (pale: in the queue)" for letter in "BC"},
            "empty": "free block",
        },
        counters=(
            Counter("time since the start", "ms"),
            Counter("free blocks"),
            Counter("requests waiting"),
            Counter("rows in this iteration"),
        ),
    )


def blocked() -> list[Iteration]:
    """Iterations in which C has blocks enough, and still waits behind B."""
    run = watched()
    need = held_blocks(run[0])[A]  # C's prompt is as long
    return [m for m in run if list(m.waiting) == [B, C] and m.free_blocks >= need]


def _held(run: Sequence[Iteration]) -> list[Row]:
    """Each block's holders over the iterations."""
    places = _numbered(run)
    rows = []
    for number in range(BLOCKS):
        for holder, start, end in _stretches([place[number] for place in places]):
            cell = {"x": start, "x2": end, "y": f"block {number + 1}"}
            rows.append({**cell, "ink": holder or "empty", "text": holder or ""})
    return rows


def _numbered(run: Sequence[Iteration]) -> list[list[str | None]]:
    """The holder of each block in each iteration.

    The engine only counts blocks. Here they get numbers: a request keeps what it has,
    and takes the lowest number that is free when it needs one more.
    """
    now: list[str | None] = [None] * BLOCKS
    found = []
    for moment in run:
        held = {LETTERS[i]: count for i, count in held_blocks(moment).items()}
        now = [letter if letter in held else None for letter in now]
        for letter, count in held.items():
            for _ in range(count - now.count(letter)):
                now[now.index(None)] = letter
        found.append(list(now))
    return found


def _waits(run: Sequence[Iteration]) -> list[Row]:
    rows = []
    for place, y in enumerate(WAITS):
        queue = [
            LETTERS[m.waiting[place]] if len(m.waiting) > place else None for m in run
        ]
        for letter, start, end in _stretches(queue):
            if letter is None:
                continue
            cell = {"x": start, "x2": end, "y": y, "ink": letter}
            rows.append({**cell, "text": f" {letter}", "faint": 0.4})
    return rows


def _notes(run: Sequence[Iteration]) -> list[Row]:
    """What happened, in words, from the step on in which it did."""
    blocked = _first(run, lambda m: C in m.waiting)
    lost = _first(run, lambda m: B in m.waiting)
    back = next(i for i in range(lost, len(run)) if B in held_blocks(run[i]))
    said = (  # at which iteration, in which row, from which frame of the story on
        (blocked, NOTES[0], "◂ C arrives", 1),
        (lost, NOTES[1], "◂ B is preempted", 3),
        (back, NOTES[0], "◂ B read again", 5),
    )
    return [{"x": at, "y": y, "text": text, "since": n} for at, y, text, n in said]


def _stretches(
    letters: Sequence[str | None],
) -> list[tuple[str | None, int, int]]:
    """Runs of the same letter, or of none: it, first place, place after the last."""
    found: list[tuple[str | None, int, int]] = []
    place = 0
    for letter, group in groupby(letters):
        end = place + len(list(group))
        found.append((letter, place, end))
        place = end
    return found


def _frame(run: Sequence[Iteration], at: int, sentence: str) -> Frame:
    moment = run[at]
    rows = sum(part.rows for part in moment.running)
    free, waits = moment.free_blocks, len(moment.waiting)
    took_ms = round(1e3 * moment.end_s)
    counters = (float(took_ms), float(free), float(waits), float(rows))
    return Frame(sentence, counters, at=at + 1.0)


def _story(run: Sequence[Iteration]) -> list[tuple[int, str]]:
    """The moments that matter, found in the run."""
    waits = _first(run, lambda m: C in m.waiting)
    full = _first(run, lambda m: m.free_blocks == 0)
    lost = _first(run, lambda m: B in m.waiting)
    back = next(i for i in range(lost, len(run)) if B in held_blocks(run[i]))
    need = held_blocks(run[0])[A]
    again = held_blocks(run[back])[B]
    return [
        (
            waits - 1,
            f"A and B have been admitted. A prompt of {_rows(run[0], A)} tokens takes "
            f"{need} blocks of {BLOCK_TOKENS} tokens each.",
        ),
        (
            waits + 1,
            f"C has arrived and needs {need} blocks; {run[waits].free_blocks} are "
            "free. There are slots enough, but no room in the cache: C is not "
            "admitted.",
        ),
        (
            full + 4,
            "The answers have grown: A and B have taken another block each, and the "
            "cache is full.",
        ),
        (
            lost + 4,
            "Both need one more block. B, admitted last, is preempted: it gives all "
            "its blocks back and goes to the head of the queue.",
        ),
        (
            lost + 11,
            f"{run[lost + 11].free_blocks} blocks are free, and C needs only {need}. "
            f"But B stands before it and needs {again}: no request overtakes, "
            "so C waits (head-of-line blocking).",
        ),
        (
            back,
            f"A is complete. B returns, and its prompt and what it had written are "
            f"computed again: {_rows(run[back], B)} rows. C finds room, too.",
        ),
        (
            len(run) - 1,
            "B writes its last token, and then gives its blocks back. No token of its "
            "answer was lost; its stream only paused.",
        ),
    ]


def _first(run: Sequence[Iteration], holds: Any) -> int:
    return next(i for i, moment in enumerate(run) if holds(moment))


def _rows(moment: Iteration, request: int) -> int:
    """Rows that a request runs in an iteration."""
    return next(part.rows for part in moment.running if part.id == request)
