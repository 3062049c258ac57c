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
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis

ONE, TWO = "one batch", "two halves"
LANES = tuple(f"{way}: {what}" for way in (ONE, TWO) for what in ("GPU", "network"))
LAYERS, CONTEXT, MANY, FEW = 2, 2000.0, 256.0, 32.0
SHORT = {ATTENTION: "at", DISPATCH: "di", EXPERTS: "ex", COMBINE: "co"}
PLACE = SETUPS["9 × 8 H100"]
MS = 1e3
DONE = 1e-9  # seconds by which an end may be ahead of its frame
Row = dict[str, Any]


def spans(requests: float, *, halves: bool, layers: int = LAYERS) -> tuple[Span, ...]:
    """A few layers of a decode step as they were played out."""
    overlap = "halves" if halves else "none"
    assumed = replace(book_assumptions(), overlap=overlap)  # type: ignore[arg-type]
    twin = Twin(setup=PLACE, assumptions=assumed)
    times = layer_times(twin, batch=requests, context=CONTEXT)
    return (in_halves if halves else in_turn)(times, layers)


def two_batches() -> StepFigure:
    """Two layers of a decode step, as one batch and below it as two halves."""
    played = {
        f"{n:.0f} requests": {
            ONE: spans(n, halves=False),
            TWO: spans(n, halves=True),
        }
        for n in (MANY, FEW)
    }
    logs = {name: _log(ways) for name, ways in played.items()}
    first, second = logs
    last = {name: len(log.frames) - 1 for name, log in logs.items()}
    many, few = (
        round(1.14 * MS * max(way[-1].end for way in ways.values()), 2)
        for ways in played.values()
    )
    # Each log has its own axis: with few requests all is over in a third of the time.
    longest = {"expr": f"log ? {few} : {many}"}
    cells = Cells(table="spans", x2="x2", text="text", grows=True)
    return StepFigure(
        name="two-batches",
        title="Two halves hide the network with many requests; with few they cost time",
        scene=Scene(
            x=SceneAxis((0, longest), "time in the step (ms)"),
            y=SceneAxis(LANES),
            marks=(cells, Labels(table="ends", align="left")),
            height=172,
            now=True,
        ),
        logs=logs,
        stills=(
            (first, last[first] // 2),
            (first, last[first]),
            (second, last[second]),
        ),
        legend={
            "A": "first half, or the whole batch",
            "B": "second half",
            "other": "start of a transfer",
        },
        counters=(
            Counter("one batch: two layers take", "s"),
            Counter("two halves: two layers take", "s"),
        ),
        start=last[first],
    )


def _log(ways: dict[str, tuple[Span, ...]]) -> StepLog:
    """A frame wherever a phase of the two halves ends, and at both ends."""
    ends = {way: found[-1].end for way, found in ways.items()}
    moments = {round(s.end, 12) for s in ways[TWO] if s.phase != START}
    moments = {at for at in moments if at < min(ends.values()) - DONE}
    moments |= set(ends.values())
    frames = tuple(_frame(ways, ends, at) for at in sorted(moments))
    rows = [_row(way, span) for way, found in ways.items() for span in found]
    rows.sort(key=lambda row: str(row["ink"]))  # runs of one ink are one path in print
    return StepLog(frames, {"spans": rows, "ends": _done(ends, frames)})


def _done(ends: dict[str, float], frames: tuple[Frame, ...]) -> list[Row]:
    """Beside the last bar of each way, from where it is done, how long it took."""
    last = MS * max(ends.values())
    return [
        {
            "x": MS * end + last / 100,
            "y": f"{way}: network",
            "text": f"{MS * end:.2f} ms",
            "since": next(
                i for i, f in enumerate(frames) if end < (f.at or 0.0) / MS + DONE
            ),
            "until": None,
        }
        for way, end in ends.items()
    ]


def _row(way: str, span: Span) -> Row:
    start = span.phase == START
    return {
        "x": round(MS * span.start, 5),
        "x2": round(MS * span.end, 5),
        "y": f"{way}: {'network' if span.on_network else 'GPU'}",
        "ink": "other" if start else "AB"[span.half],
        "text": "" if start else SHORT[span.phase],
    }


def _frame(
    ways: dict[str, tuple[Span, ...]], ends: dict[str, float], at: float
) -> Frame:
    said = " ".join(
        f"{way.capitalize()}: {_now(found, at)}." for way, found in ways.items()
    )
    took = tuple(end if end < at + DONE else "not done" for end in ends.values())
    return Frame(said, took, at=MS * at)


def _now(found: tuple[Span, ...], at: float) -> str:
    """What is under way up to a moment, or that all is done."""
    if found[-1].end < at + DONE:
        return f"two layers are done after {MS * found[-1].end:.2f} ms"
    going = [s for s in found if s.start < at - 1e-12 <= s.end and s.phase != START]
    halves = any(s.half for s in found)
    return " and ".join(_named(s, halves) for s in going) or "a transfer starts"


def _named(span: Span, halves: bool) -> str:
    whose = f" of {'AB'[span.half]}" if halves else ""
    return f"{span.phase}{whose} in layer {span.layer + 1}"
