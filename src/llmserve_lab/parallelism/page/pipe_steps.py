"""Batches through four stages, stepped: prefill fills the pipe, decode must wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.pictures import slot_grid
from llmserve_lab.parallelism.model import SMALL
from llmserve_lab.parallelism.pipeline import (
    Microbatch,
    Prompts,
    decode_plan,
    pipelined,
    prefill_plan,
)
from llmserve_lab.parallelism.timeline import StageSpan, Timeline, timeline
from llmserve_lab.transformer import Transformer

Row = dict[str, Any]
STAGES, TURNS = 4, 2
LETTERS = "ABCDEF"
PROMPTS: list[Prompts] = [
    [(1, 2, 3)],
    [(4, 5)],
    [(6, 7, 8, 9)],
    [(10,)],
    [(11, 12)],
    [(13,)],
]
NAMES = tuple(f"stage {stage + 1}" for stage in range(STAGES))
PLANS: dict[str, Sequence[Microbatch]] = {
    "prefill, six batches": prefill_plan(PROMPTS),
    "decode, one batch": decode_plan(PROMPTS[:1], TURNS),
    "decode, four batches": decode_plan(PROMPTS[:4], TURNS),
}


def played(name: str) -> Timeline:
    """The timeline of one plan, executed on four ranks."""
    return timeline(pipelined(Transformer(SMALL), PLANS[name], STAGES).results)


def pipeline_steps() -> StepFigure:
    """Stages against time: which batch is where, and which stage stands idle."""
    lines = {name: played(name) for name in PLANS}
    first, one, four = lines
    until = max(line.makespan for line in lines.values())
    return StepFigure(
        name="pipeline",
        title="Stages stand idle while the pipe fills, empties or has few batches",
        scene=slot_grid(NAMES, until, title="time, in ticks"),
        logs={name: _log(name, line) for name, line in lines.items()},
        stills=((first, 8), (one, 7), (four, 10)),
        start=8,
        legend={
            **{letter: f"batch {letter}" for letter in LETTERS},
            "idle": "the stage stands idle",
        },
        counters=(
            Counter("places used"),
            Counter("places idle so far"),
            Counter("batches that have left stage 4"),
        ),
    )


def _log(name: str, line: Timeline) -> StepLog:
    spans = line.spans
    cells = [_cell(span, name) for span in spans] + _idle(line)
    frames = [
        _frame(name, line, float(now)) for now in range(1, int(line.makespan) + 1)
    ]
    return StepLog(tuple(frames), {"cells": cells})


def _cell(span: StageSpan, name: str) -> Row:
    letter = LETTERS[span.group]
    turn = span.microbatch // len({b.group for b in PLANS[name]}) + 1
    text = letter if name.startswith("prefill") else f"{letter}{turn}"
    return {
        "slot": NAMES[span.stage],
        "start": span.start,
        "end": span.end,
        "ink": letter,
        "text": text,
    }


def _idle(line: Timeline) -> list[Row]:
    """What lies between the spans of each stage, one unit of time a cell."""
    busy = {(span.stage, span.start) for span in line.spans}
    return [
        {"slot": NAMES[stage], "start": t, "end": t + 1, "ink": "idle", "text": ""}
        for stage in range(line.num_stages)
        for t in range(int(line.makespan))
        if (stage, float(t)) not in busy
    ]


def _frame(name: str, line: Timeline, now: float) -> Frame:
    done = [span for span in line.spans if span.end <= now]
    left = sum(span.stage == STAGES - 1 for span in done)
    idle = STAGES * now - len(done)
    counters = (float(len(done)), idle, float(left))
    return Frame(_sentence(name, line, now), counters, at=now)


def _sentence(name: str, line: Timeline, now: float) -> str:
    """What goes on in the tick that ends now."""
    at_work = [span for span in line.spans if span.end == now]
    letters = ", ".join(LETTERS[span.group] for span in at_work)
    if now == line.makespan:
        return (
            f"The last tick. Of {STAGES} × {now:g} the stages used "
            f"{len(line.spans)}: idle {line.bubble:.0%}."
        )
    if name.startswith("prefill"):
        if len(at_work) == STAGES:
            return f"The pipe is full: {letters} are in it, one in each stage."
        word = "fills" if now < STAGES else "empties"
        return f"The pipe {word}: {len(at_work)} of {STAGES} stages work."
    (first, *_) = at_work
    if len(at_work) == 1:
        return (
            f"Only stage {first.stage + 1} works: {letters} needs the token that the "
            "last stage chooses before it can start again."
        )
    if len(at_work) == STAGES:
        return (
            "Full: when a batch leaves stage 4 with its tokens, stage 1 is free for it."
        )
    return f"{len(at_work)} of {STAGES} stages work: {letters}."
