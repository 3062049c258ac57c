"""Two-batch overlap on the page: what the GPU computes and what the network carries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.executed.overlap import (
    ATTENTION,
    COMBINE,
    DISPATCH,
    EXPERTS,
    START,
    Span,
    in_halves,
    in_turn,
    layer_times,
)
from llmserve_lab.deepseek.model.setup import SETUPS
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Scene, SceneAxis

GPU, NETWORK = "GPU computes", "network carries"
LAYERS, CONTEXT, MANY, FEW = 3, 2000.0, 256.0, 32.0
SHORT = {ATTENTION: "attn", EXPERTS: "exp", DISPATCH: "disp", COMBINE: "comb"}
PLACE = SETUPS["9 × 8 H100"]
MS = 1e3
Row = dict[str, Any]


def spans(requests: float, *, halves: bool, layers: int = LAYERS) -> tuple[Span, ...]:
    """A few layers of a decode step as they were played out."""
    overlap = "halves" if halves else "none"
    assumed = replace(book_assumptions(), overlap=overlap)  # type: ignore[arg-type]
    twin = Twin(setup=PLACE, assumptions=assumed)
    times = layer_times(twin, batch=requests, context=CONTEXT)
    return (in_halves if halves else in_turn)(times, layers)


def two_batches() -> StepFigure:
    """Three layers of a decode step: one batch, two halves, and two small halves."""
    played = {
        f"{MANY:.0f} requests, one batch": spans(MANY, halves=False),
        f"{MANY:.0f} requests, two halves": spans(MANY, halves=True),
        f"{FEW:.0f} requests, one batch": spans(FEW, halves=False),
        f"{FEW:.0f} requests, two halves": spans(FEW, halves=True),
    }
    logs = {name: _log(found) for name, found in played.items()}
    first, second, *_ = logs
    last = len(logs[second].frames) - 1
    longest = MS * max(found[-1].end for found in played.values())
    cells = Cells(table="spans", x2="x2", text="text", grows=True)
    return StepFigure(
        name="two-batches",
        title="Two halves: one computes while what the other made is sent",
        scene=Scene(
            x=SceneAxis((0, round(longest, 1)), "time in the step (ms)"),
            y=SceneAxis((GPU, NETWORK)),
            marks=(cells,),
            height=120,
            now=True,
        ),
        logs=logs,
        stills=((first, len(logs[first].frames) - 1), (second, 5), (second, last)),
        legend={
            "A": "first half, or the whole batch",
            "B": "second half",
            "other": "start of a transfer",
        },
        counters=(
            Counter("time so far", "s"),
            Counter("of it, the GPU computes", "%", 2),
        ),
        start=4,
    )


def _log(found: tuple[Span, ...]) -> StepLog:
    moments = sorted({round(span.end, 12) for span in found if span.phase != START})
    frames = [_frame(found, at) for at in moments]
    return StepLog(tuple(frames), {"spans": [_row(span) for span in found]})


def _row(span: Span) -> Row:
    lane = NETWORK if span.on_network else GPU
    start = span.phase == START
    return {
        "x": round(MS * span.start, 5),
        "x2": round(MS * span.end, 5),
        "y": lane,
        "ink": "other" if start else "AB"[span.half],
        "text": "" if start else SHORT[span.phase],
    }


def _frame(found: tuple[Span, ...], now: float) -> Frame:
    done = [s for s in found if abs(s.end - now) < 1e-9 and s.phase != START]
    going = [s for s in found if s.start < now - 1e-12 and s.end > now + 1e-9]
    computed = sum(
        min(s.end, now) - min(s.start, now)
        for s in found
        if not s.on_network and s.phase != START
    )
    halves = any(s.half for s in found)
    said = " and ".join(_named(s, halves) for s in done)
    said += " are done." if len(done) > 1 else " is done."
    if going:
        said += " Still under way: " + ", ".join(_named(s, halves) for s in going) + "."
    said = said[0].upper() + said[1:]
    share = 100 * computed / now
    return Frame(said, (now, share), at=MS * now)


def _named(span: Span, halves: bool) -> str:
    whose = f" of {'AB'[span.half]}" if halves else ""
    return f"{span.phase}{whose} in layer {span.layer + 1}"
