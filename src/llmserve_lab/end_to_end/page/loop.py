"""The generation loop, stepped: the cache grows by one column a pass.

Both logs are runs of the small model; what a pass computed and found was written down.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab import catalog
from llmserve_lab.end_to_end.replies import LoopRun, reply
from llmserve_lab.end_to_end.story import END, PROMPT, WORDS
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis

Row = dict[str, Any]
LOGS = {"with a KV cache": True, "everything again": False}
BLOCKS = 2
LLAMA = "llama-3.1-8b"


def loop() -> StepFigure:
    """One column a token: its keys and values in each block."""
    runs = {name: reply(PROMPT, cached=cached) for name, cached in LOGS.items()}
    logs = {name: _log(run, cached=LOGS[name]) for name, run in runs.items()}
    first, run = next(iter(runs.items()))
    columns = len(run.prompt) + len(run.passes)
    return StepFigure(
        name="generation-loop",
        title="Each pass writes one token; a cache keeps what was computed for it",
        scene=Scene(
            x=SceneAxis((-1.5, columns), shown=False),
            y=SceneAxis((3.1, -0.8), shown=False),
            marks=(
                Cells(table="cells", text="text", y2="y2"),
                Labels(table="names", align="left"),
                Labels(table="phases"),
            ),
            height=180,
            fixed={"names": _names()},
        ),
        logs=logs,
        start=3,
        stills=tuple((first, frame) for frame in (0, 1, len(run.passes) - 1)),
        legend={
            "new": "computed in this pass",
            "cache": "kept from earlier passes (KV cache)",
            "other": "token",
        },
        counters=(
            Counter("rows computed"),
            Counter("columns reused"),
            Counter("rows computed so far"),
            Counter("cache read, in Llama-3.1-8B", "byte"),
        ),
    )


def _names() -> list[Row]:
    names = ("text", "KV 1", "KV 2")
    return [{"x": -1.45, "y": y + 0.5, "text": name} for y, name in enumerate(names)]


def _log(run: LoopRun, *, cached: bool) -> StepLog:
    """A frame for each pass, with the columns that it computed and those it found."""
    one = catalog.model(LLAMA).kv_bytes_per_token()
    frames, cells, so_far = list[Frame](), list[Row](), 0
    tokens = list(run.prompt)
    for number, done in enumerate(run.passes):
        alive = {"since": number, "until": number + 1}
        length, so_far = done.reused + done.computed, so_far + done.computed
        for column in range(length):
            ink = "cache" if column < done.reused else "new"
            cells += [_cell(column, 1 + block, ink) | alive for block in range(BLOCKS)]
        words = [WORDS[token].strip() for token in tokens]
        cells += [_cell(x, 0, "other", w) | alive for x, w in enumerate(words)]
        chosen = WORDS[done.token]
        cells.append(_cell(length, 0, "empty", chosen.strip("<> ")) | alive)
        counters = (done.computed, done.reused, so_far, done.reused * one)
        said = _sentence(number, done.computed, chosen, cached=cached)
        frames.append(Frame(said, counters))
        tokens.append(done.token)
    tables = {"cells": cells, "phases": _phases(run) if cached else []}
    return StepLog(tuple(frames), tables)


def _phases(run: LoopRun) -> list[Row]:
    """Which columns come from the prefill, and which from passes of decode."""
    prompt, last = len(run.prompt), len(run.prompt) + len(run.passes)
    decoded = {"x": (prompt + last) / 2, "text": "decode, pass by pass"}
    return [
        {"x": prompt / 2, "y": -0.4, "text": "prefill"},
        {**decoded, "y": -0.4, "since": 1},
    ]


def _cell(x: int, y: int, ink: str, text: str = "") -> Row:
    return {"x": x, "y": y + 0.06, "y2": y + 0.94, "ink": ink, "text": text}


def _sentence(number: int, computed: int, chosen: str, *, cached: bool) -> str:
    out = "The end mark" if chosen == END else f"“{chosen.strip()}”"
    if not cached:
        done = f"all {computed} rows go through the model"
        again = ", most of them again" if number else ""
        return f"Pass {number + 1}: {done}{again}. {out} comes out."
    if number == 0:
        done = f"prefill: {computed} rows go through the model at once"
    else:
        done = "decode: one row goes through the model and looks at all columns"
    return f"Pass {number + 1}, {done}. {out} comes out."
