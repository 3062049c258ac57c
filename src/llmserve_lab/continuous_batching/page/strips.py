"""Iterations as strips of rows, stepped: decodes first, then what the budget allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmserve_lab.continuous_batching.occupancy import frames, logged
from llmserve_lab.continuous_batching.workloads import LETTERS
from llmserve_lab.engine import Chunked, Continuous, Policy, Request
from llmserve_lab.engine.metrics.iteration_log import IterationFrame as Iteration
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Scene, SceneAxis
from llmserve_lab.running_example import cost

BUDGET = 8
SIZES = ((0.0, 2, 12), (0.0, 3, 12), (0.0, 2, 12), (0.012, 13, 4))  # s, prompt, answer
SHOWN = 7  # iterations
POLICIES: dict[str, Policy] = {
    f"budget of {BUDGET} rows": Chunked(BUDGET),
    "whole prompts": Continuous(),
}
Row = dict[str, Any]


def requests() -> list[Request]:
    """Three requests that decode, and a prompt that arrives while they do."""
    return [
        Request(arrival_s=arrival, prompt_len=prompt, output_len=answer, id=number)
        for number, (arrival, prompt, answer) in enumerate(SIZES)
    ]


def mixed_iterations() -> StepFigure:
    """Each iteration a strip: a cell is a row of the flat batch."""
    runs = {
        name: frames(logged(requests(), policy, cost()))[:SHOWN]
        for name, policy in POLICIES.items()
    }
    most = max(sum(_rows(m).values()) for run in runs.values() for m in run)
    first, other = runs
    return StepFigure(
        name="strips",
        title="Each iteration is one strip of rows",
        scene=Scene(
            x=SceneAxis((0, most), "rows of the iteration"),
            y=SceneAxis(tuple(f"iter. {i + 1}" for i in range(SHOWN))),
            marks=(Cells(table="rows", text="text"),),
            height=160,
        ),
        logs={name: _log(run) for name, run in runs.items()},
        stills=((first, 1), (first, SHOWN - 1), (other, SHOWN - 1)),
        legend={
            **{letter: f"rows of {letter}" for letter in "ABC"},
            "D": "rows of D, which comes with a prompt",
        },
        counters=(
            Counter("time of this iteration", "ms"),
            Counter("rows"),
            Counter("tokens written"),
            Counter("left of D's prompt"),
        ),
    )


def _rows(moment: Iteration) -> dict[int, int]:
    """Rows of each request in one iteration."""
    return {part.id: part.rows for part in moment.running}


def _log(run: Sequence[Iteration]) -> StepLog:
    frames, rows = list[Frame](), list[Row]()
    read = 0
    for number, moment in enumerate(run):
        place = 0
        for request, count in _rows(moment).items():
            letter, y = LETTERS[request], f"iter. {number + 1}"
            for i in range(count):
                text = "" if i else letter  # once is enough, and keeps the page small
                cell = {"x": place, "y": y, "ink": letter, "text": text}
                rows.append({**cell, "since": number})
                place += 1
        read += _rows(moment).get(len(SIZES) - 1, 0)
        frames.append(_frame(moment, place, read))
    return StepLog(tuple(frames), {"rows": rows})


def _frame(moment: Iteration, rows: int, read: int) -> Frame:
    last = len(SIZES) - 1
    prompt = SIZES[last][1]
    left, chunk = max(0, prompt - read), _rows(moment).get(last, 0)
    made = len(_rows(moment)) - (1 if left and chunk else 0)
    took_ms = round(1e3 * (moment.end_s - moment.start_s), 1)
    counters = (took_ms, float(rows), float(made), float(left))
    return Frame(_sentence(moment, chunk, left), counters)


def _sentence(moment: Iteration, chunk: int, left: int) -> str:
    others = len(_rows(moment)) - (1 if chunk else 0)
    if not chunk:
        kind = "prompts" if max(_rows(moment).values()) > 1 else "decodes, a row each"
        return f"{others} requests share the iteration: {kind}."
    if chunk == 1:
        return "D decodes as well: one row for each of the four."
    if left:
        return (
            f"{others} decodes, then {chunk} rows of D's prompt fill the budget; "
            f"{left} are left for later."
        )
    return (
        f"{others} decodes and {chunk} rows of D's prompt: it is complete, and this "
        "iteration makes D's first token."
    )
