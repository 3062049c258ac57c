"""The generation loop, stepped: with a cache and without, side by side.

Both halves are runs of the small model: what each pass computed, and what it found.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from llmserve_lab import catalog
from llmserve_lab.end_to_end.replies import LoopPass, LoopRun, reply
from llmserve_lab.end_to_end.story import END, PROMPT, WORDS
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Links, Scene, SceneAxis

Row = dict[str, Any]
HALVES = {"with a KV cache": True, "everything again": False}
TOPS = {"with a KV cache": 1.9, "everything again": 4.7}  # of the cells of each half
CALLED = {"with a KV cache": "with a KV cache", "everything again": "no cache"}
BLOCKS, LLAMA = 2, "llama-3.1-8b"
SAME = 4  # letters: shorter words get the type size of a word of four


def runs() -> dict[str, LoopRun]:
    """What was run in each half."""
    return {name: reply(PROMPT, cached=cached) for name, cached in HALVES.items()}


def loop() -> StepFigure:
    """One column a token: its keys and values in each block."""
    both = runs()
    once, again = both.values()
    prompt, passes = len(once.prompt), len(once.passes)
    return StepFigure(
        name="generation-loop",
        title="A cache keeps what was computed",
        scene=Scene(
            x=SceneAxis((0, prompt + passes), shown=False),
            y=SceneAxis((6.9, -0.8), shown=False),
            marks=(
                Cells(table="cells", text="text", y2="y2"),
                Links(table="divider", width="width", arrow=False),
                Labels(table="names", align="left"),
                Labels(table="phases", align="left"),
            ),
            height=200,
            fixed={"divider": _divider(prompt), "phases": _phases(prompt)},
        ),
        logs={"both loops": _log(once, again)},
        start=3,
        stills=tuple(("both loops", frame) for frame in (0, 1, passes - 1)),
        legend={
            "new": "computed for the first time",
            "idle": "computed again",
            "cache": "kept from earlier passes (KV cache)",
            "other": "token",
            "empty": "token that comes out",
        },
        counters=(
            Counter("rows in this pass"),
            Counter("rows so far"),
            Counter("cache read, Llama\u20113.1\u20118B", "byte"),
        ),
    )


def _divider(prompt: int) -> list[Row]:
    """Between prompt and answer, with gaps for the titles of the halves."""
    look = {"x": prompt, "x2": prompt, "width": 2, "ink": "other"}
    parts = [(top, top + BLOCKS) for top in TOPS.values()]
    return [{**look, "y": a, "y2": b} for a, b in ((-0.7, 1.0), *parts)]


def _phases(prompt: int) -> list[Row]:
    """Which columns come from the prompt, and which were written one by one."""
    words = ((0.05, "prompt: prefill"), (prompt + 0.15, "answer: run by decode"))
    return [{"x": x, "y": -0.4, "text": text} for x, text in words]


def _log(once: LoopRun, again: LoopRun) -> StepLog:
    """A frame for each pass, with the columns that it computed and those it found."""
    one = catalog.model(LLAMA).kv_bytes_per_token()
    sums = [accumulate(each.computed for each in run.passes) for run in (once, again)]
    frames, cells, names = list[Frame](), list[Row](), list[Row]()
    tokens = list(once.prompt)
    pairs = zip(once.passes, again.passes, *sums, strict=True)
    for number, (kept, anew, so_far, so_far_anew) in enumerate(pairs):
        alive = {"since": number, "until": number + 1}
        chosen = WORDS[kept.token]
        words = [*(WORDS[token] for token in tokens), chosen.strip("<>")]
        texts = [word.strip().ljust(SAME, "\u200b") for word in words]
        cells += [
            _cell(x, 0, "other" if x < len(tokens) else "empty", text) | alive
            for x, text in enumerate(texts)
        ]
        known = len(tokens) - 1 if number else 0  # of the columns: run in a pass before
        for (name, top), done, rows in zip(
            TOPS.items(), (kept, anew), (so_far, so_far_anew), strict=True
        ):
            cells += [cell | alive for cell in _columns(top, done, known)]
            said = f"blocks 1 and {BLOCKS}, {CALLED[name]}: {rows} rows"
            names.append({"x": 0.05, "y": top - 0.4, "text": said, **alive})
        counters = (
            f"{kept.computed} with, {anew.computed} without",
            f"{so_far} with, {so_far_anew} without",
            kept.reused * one,
        )
        frames.append(Frame(_sentence(number, kept.computed, chosen), counters))
        tokens.append(kept.token)
    return StepLog(tuple(frames), {"cells": cells, "names": names})


def _columns(top: float, done: LoopPass, known: int) -> list[Row]:
    """The keys and values of every token in each block: kept, computed, or again.

    The first ``known`` columns were computed in an earlier pass, too.
    """
    inks = ["cache"] * done.reused + ["idle"] * (known - done.reused)
    inks += ["new"] * (done.reused + done.computed - len(inks))
    return [
        _cell(column, top + block, ink)
        for column, ink in enumerate(inks)
        for block in range(BLOCKS)
    ]


def _cell(x: int, y: float, ink: str, text: str = "") -> Row:
    return {"x": x, "y": y + 0.06, "y2": y + 0.94, "ink": ink, "text": text}


def _sentence(number: int, computed: int, chosen: str) -> str:
    out = "The end mark" if chosen == END else f"“{chosen.strip()}”"
    if number == 0:
        done = f"prefill: {computed} rows go through the model at once"
    else:
        done = "decode: with a cache one row goes through the model, without one all do"
    return f"Pass {number + 1}, {done}. {out} comes out."
