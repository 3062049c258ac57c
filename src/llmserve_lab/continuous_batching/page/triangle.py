"""Chunks fill the causal triangle, stepped: masks of a prompt and of two decodes.

Every mask was seen by the small transformer as it ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmserve_lab.continuous_batching.chunks import prefill
from llmserve_lab.continuous_batching.toy import model, prompt
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Scene, SceneAxis
from llmserve_lab.transformer.arithmetic import Mask

PROMPT, TOKENS = 12, 14  # of the prompt; with two tokens of the answer
CHUNKS = {"chunks of 4 rows": 4, "the whole prompt": PROMPT}
ROWS = tuple(str(row) for row in range(1, TOKENS + 1))
PALE = 0.4  # opacity
Row = dict[str, Any]


def chunks_fill_the_triangle() -> StepFigure:
    """The mask of each chunk, below those of the chunks before it."""
    logs = {name: _log(masks(chunk)) for name, chunk in CHUNKS.items()}
    first = next(iter(logs))
    return StepFigure(
        name="triangle",
        title="Whatever the chunk, the same triangle is filled",
        scene=Scene(
            x=SceneAxis((0, TOKENS), "keys (tokens that are looked at)"),
            y=SceneAxis(ROWS, "row (a token that looks)"),
            marks=(Cells(table="pairs", x2="x2", opacity="faint"),),
            height=170,
        ),
        logs=logs,
        start=len(logs[first].frames) - 1,
        stills=tuple((first, frame) for frame in (0, 2, len(logs[first].frames) - 1)),
        legend={
            "cache": "key read from the cache (pale: in an earlier iteration)",
            "new": "key of the chunk itself (pale: of an earlier one)",
        },
        counters=(
            Counter("rows in this iteration"),
            Counter("pairs so far"),
            Counter("cached keys read so far"),
        ),
    )


def masks(chunk: int) -> list[Mask]:
    """The masks of the prompt in chunks, then of the decodes, a row each."""
    read = prefill(model(), prompt(PROMPT), chunk=chunk).masks
    written = prefill(model(), prompt(TOKENS), chunk=1).masks[PROMPT:]
    return [*read, *written]


def _log(seen: Sequence[Mask]) -> StepLog:
    """A frame for each chunk and each decode."""
    frames, rows = list[Frame](), list[Row]()
    pairs = read = 0
    for number, mask in enumerate(seen):
        new, keys = mask.shape
        prefix = keys - new
        pairs, read = pairs + int(mask.sum()), read + prefix
        rows += _chunk(prefix, new, number)
        counters = (float(new), float(pairs), float(read))
        frames.append(Frame(_sentence(prefix, new), counters))
    return StepLog(tuple(frames), {"pairs": rows})


def _chunk(prefix: int, new: int, frame: int) -> list[Row]:
    """The rows of a chunk in full colour, then pale."""
    looks: list[Row] = [
        {"since": frame, "until": frame + 1, "faint": 1.0},
        {"since": frame + 1, "faint": PALE},
    ]
    found = []
    for look in looks:
        for i in range(new):
            seen = {"y": f"{prefix + i + 1}", **look}
            if prefix:
                found.append({"x": 0, "x2": prefix, "ink": "cache", **seen})
            found.append({"x": prefix, "x2": prefix + i + 1, "ink": "new", **seen})
    return found


def _sentence(prefix: int, new: int) -> str:
    if new == 1 and prefix:
        kind = "a decode" if prefix >= PROMPT else "a chunk of one row"
        return f"Row {prefix + 1}, {kind}: it looks at every cached key and at itself."
    if new == 1:
        return "Row 1: nothing is cached, it looks at itself."
    own = "at the chunk's own keys up to itself"
    if not prefix:
        return f"Rows 1 to {new}: nothing is cached; each row looks {own}."
    return (
        f"Rows {prefix + 1} to {prefix + new}: each row looks at all {prefix} cached "
        f"keys, and {own}."
    )
