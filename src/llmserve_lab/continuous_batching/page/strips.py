"""Mixed iterations as strips, stepped: decodes first, then what the budget allows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from llmserve_lab.continuous_batching.machine import priced
from llmserve_lab.continuous_batching.occupancy import frames, logged
from llmserve_lab.continuous_batching.workloads import LETTERS, numbered
from llmserve_lab.engine import Chunked, Continuous, Policy, Request
from llmserve_lab.engine.metrics.iteration_log import IterationFrame as Iteration
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.running_example import PROMPT, cost

BUDGET, LAST, D_PROMPT = 512, 3, 3000  # rows; the place of D; tokens
ARRIVES_S, ANSWER = 0.2, 60
POLICIES: dict[str, Policy] = {
    f"budget of {BUDGET} rows": Chunked(BUDGET),
    "whole prompts, mixed": Continuous(),
    "prefill first": Continuous(mixed=False),
}
BEFORE, AFTER = 2, 2  # decode iterations on either side of the prompt
BESIDE = ("A, budget", "A, whole", "A, first")  # A's lane under each of them
Row = dict[str, Any]


def requests() -> list[Request]:
    """Three requests that decode, and a prompt that arrives while they do."""
    sizes = [(0.0, PROMPT, ANSWER)] * LAST + [(ARRIVES_S, D_PROMPT, ANSWER)]
    return numbered(sizes)


def watched(policy: Policy) -> list[Iteration]:
    """The iterations that read D's prompt, and a few on either side."""
    machine = priced(policy.budget) if isinstance(policy, Chunked) else cost()
    run = frames(logged(requests(), policy, machine))
    reads = [i for i, moment in enumerate(run) if _rows(moment).get(LAST, 0) > 1]
    return run[reads[0] - BEFORE : reads[-1] + 1 + AFTER]


def longest_s(policy: Policy) -> float:
    """The longest gap between two tokens of A, and of B and C, which write with it."""
    return _longest_s(watched(policy))


def _longest_s(run: Sequence[Iteration]) -> float:
    ends_s = [run[0].start_s] + [m.end_s for m in run if 0 in _rows(m)]
    return max(after - before for before, after in pairwise(ends_s))


def read_s(policy: Policy) -> float:
    """How long D's prompt is read, from its first row to its last."""
    reads = [m for m in watched(policy) if _rows(m).get(LAST, 0) > 1]
    return reads[-1].end_s - reads[0].start_s


def mixed_iterations() -> StepFigure:
    """Each iteration a strip through the lanes, as long as it lasts."""
    runs = {name: watched(policy) for name, policy in POLICIES.items()}
    longest_s = max(run[-1].end_s - run[0].start_s for run in runs.values())
    first, whole, apart = runs
    ends = {name: len(run) - 1 for name, run in runs.items()}
    beside, gaps = _beside(list(runs.values())), _gaps(list(runs.values()))
    waits = [str(gap["text"]) for gap in gaps]
    return StepFigure(
        name="strips",
        title="Strips of fewer rows are shorter: A, B and C wait "
        f"{waits[0]} for a token instead of {waits[1]} or {waits[2]}",
        scene=Scene(
            x=SceneAxis((0, 1e3 * longest_s), "time (ms)"),
            y=SceneAxis((*LETTERS[: LAST + 1], *BESIDE)),
            marks=(
                Cells(table="rows", x2="x2", text="text"),
                Cells(table="beside", x2="x2", opacity="faint"),
                Labels(table="gaps"),
            ),
            height=172,
        ),
        logs={name: _log(run, beside, gaps) for name, run in runs.items()},
        start=ends[first],
        stills=((first, ends[first]), (whole, ends[whole]), (apart, ends[apart])),
        legend={
            "A": "A, one row each (pale: A's gaps, under each scheduler)",
            **{letter: f"{letter}, one row each" for letter in "BC"},
            "D": f"D, a prompt of {D_PROMPT:,} tokens: its rows",
        },
        counters=(
            Counter("time of this iteration", "ms"),
            Counter("rows"),
            Counter("A's longest gap so far", "ms"),
            Counter("D's prompt read for", "ms"),
        ),
    )


def _rows(moment: Iteration) -> dict[int, int]:
    """Rows of each request in one iteration."""
    return {part.id: part.rows for part in moment.running}


def _took_ms(moment: Iteration) -> float:
    return round(1e3 * (moment.end_s - moment.start_s), 1)


def _between(run: Sequence[Iteration], moment: Iteration) -> tuple[float, float]:
    """Start and end of an iteration in ms since the first that is shown."""
    start, end = (
        round(1e3 * (t - run[0].start_s), 1) for t in (moment.start_s, moment.end_s)
    )
    return start, end


def _beside(runs: Sequence[Sequence[Iteration]]) -> list[Row]:
    """A's gaps under every policy, each from token to token, beside every frame."""
    found = []
    for lane, run in zip(BESIDE, runs, strict=True):
        for start, end in pairwise(_tokens_of_a(run)):
            cell = {"x": start, "x2": end, "y": lane, "ink": LETTERS[0]}
            found.append({**cell, "faint": 0.45})
    return found


def _tokens_of_a(run: Sequence[Iteration]) -> list[float]:
    """When A gets its tokens, in ms since the first iteration that is shown."""
    return [0.0, *(_between(run, m)[1] for m in run if 0 in _rows(m))]


def _gaps(runs: Sequence[Sequence[Iteration]]) -> list[Row]:
    """The longest gap of A under every policy, written where it is."""
    found = []
    for lane, run in zip(BESIDE, runs, strict=True):
        gaps = pairwise(_tokens_of_a(run))
        start, end = max(gaps, key=lambda gap: gap[1] - gap[0])
        text = f"{1e3 * _longest_s(run):.1f} ms"
        found.append({"x": (start + end) / 2, "y": lane, "text": text})
    return found


def _log(run: Sequence[Iteration], beside: list[Row], gaps: list[Row]) -> StepLog:
    found, rows = list[Frame](), list[Row]()
    read, read_ms, gap_ms, longest_ms = 0, 0.0, 0.0, 0.0
    for number, moment in enumerate(run):
        start, end = _between(run, moment)
        for request, count in _rows(moment).items():
            letter = LETTERS[request]
            cell = {"x": start, "x2": end, "y": letter, "ink": letter}
            rows.append({**cell, "text": f"{count:,}", "since": number})
        chunk = _rows(moment).get(LAST, 0)
        read += chunk
        read_ms += _took_ms(moment) if chunk > 1 else 0.0
        gap_ms += _took_ms(moment)  # since A's last token
        if 0 in _rows(moment):
            longest_ms, gap_ms = max(longest_ms, gap_ms), 0.0
        left = max(0, D_PROMPT - read)
        all_rows = f"{sum(_rows(moment).values()):,}"
        counts = (_took_ms(moment), all_rows, round(longest_ms, 1), round(read_ms, 1))
        found.append(Frame(_sentence(moment, chunk, left), counts))
    return StepLog(tuple(found), {"rows": rows, "beside": beside, "gaps": gaps})


def _sentence(moment: Iteration, chunk: int, left: int) -> str:
    if not chunk:
        return f"{LAST} requests decode, a row each: {_took_ms(moment):g} ms."
    if chunk == 1:
        return f"D decodes as well: four requests, a row each: {_took_ms(moment):g} ms."
    both = f"{LAST} decodes and {chunk:,} rows of D's prompt: {_took_ms(moment):g} ms"
    if 0 not in _rows(moment):
        return f"{chunk:,} rows of D's prompt, alone. A, B and C stand still."
    if left:
        return f"{both}. {left:,} rows are left for later."
    return f"{both}. The prompt is complete; this iteration makes D's first token."
