"""The front page's figure: one request from arrival to end, beside three others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from llmserve_lab.engine import IterationFrame
from llmserve_lab.formula.text import si
from llmserve_lab.front.request_life import (
    ANSWERS,
    ARRIVES_S,
    BUDGET,
    NAMES,
    SLOTS,
    Moment,
    iterations,
    moments,
    ttft_s,
)
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Scene, SceneAxis
from llmserve_lab.running_example import PROMPT

MS = 1e3
STAGE = "A's stage"
OTHERS = "C"  # one ink for the tokens of all others
Row = dict[str, Any]


def request_life() -> StepFigure:
    """The stages of a request on the time axis of an engine that serves four."""
    found, steps = moments(), iterations()
    cells = Cells(table="cells", x2="x2", text="text", opacity="faint", grows=True)
    return StepFigure(
        name="request-life",
        title="The life of request A: it waits, is read in chunks, then written "
        "token by token",
        scene=Scene(
            x=SceneAxis((0, MS * steps[-1].end_s), "time (ms)"),
            y=SceneAxis((STAGE, *NAMES)),
            marks=(cells,),
            height=220,
            now=True,
        ),
        logs={
            "served": StepLog(
                tuple(_frames(found)), {"cells": [*_stages(found), *_lanes()]}
            )
        },
        start=len(found) - 1,
        stills=(
            ("served", 1),
            ("served", _last(found, "prefill")),
            ("served", len(found) - 1),
        ),
        legend={
            "new": "tokens of a prompt, read",
            "A": "a token of A's answer",
            OTHERS: "a token of another's answer",
        },
        counters=(
            Counter("time since A arrived"),
            Counter("tokens of A's answer"),
            Counter("A's KV cache"),
        ),
    )


def _last(found: list[Moment], station: str) -> int:
    """The last of the moments at a station."""
    return max(i for i, moment in enumerate(found) if moment.station == station)


def _stages(found: list[Moment]) -> Iterator[Row]:
    """One bar for each stage of A, as long as it lasts."""
    ends = {moment.station: MS * moment.at_s for moment in found}
    ends["decode"] = ends.pop("end")
    for (_, start), (station, end) in pairwise(ends.items()):
        yield _cell(STAGE, start, end, "other", station, 1.0)


def _lanes() -> Iterator[Row]:
    """What each request runs in each iteration, and A's wait in pale."""
    first = next(s for s in iterations() if any(r.id == 0 for r in s.running))
    yield _cell("A", MS * ARRIVES_S, MS * first.start_s, "A", "", 0.3)
    for step in iterations():
        for each in step.running:
            name = NAMES[each.id]
            ink, text = _done(each.id, each.rows, stalled_ms(step))
            yield _cell(name, MS * step.start_s, MS * step.end_s, ink, text, 1.0)


def stalled_ms(step: IterationFrame) -> str:
    """How long a token takes beside a piece of A's prompt, empty without one."""
    reads = any(each.id == 0 and each.rows > 1 for each in step.running)
    return f"{MS * (step.end_s - step.start_s):.1f} ms" if reads else ""


def _done(request: int, rows: int, stalled: str) -> tuple[str, str]:
    """Ink and text of what an iteration did for a request."""
    if rows > 1:
        return "new", f"{rows}"
    return (NAMES[0], "") if request == 0 else (OTHERS, stalled)


def _cell(y: str, x: float, x2: float, ink: str, text: str, faint: float) -> Row:
    places = {"x": round(x, 2), "x2": round(x2, 2), "y": y}
    return {**places, "ink": ink, "text": text, "faint": faint}


def _frames(found: list[Moment]) -> Iterator[Frame]:
    for before, moment in zip([found[0], *found], found, strict=False):
        yield Frame(_sentence(before, moment), _counters(moment), at=MS * moment.at_s)


def _counters(moment: Moment) -> tuple[float | str, ...]:
    held = "none" if not moment.cache_bytes else si(moment.cache_bytes, "byte")
    written = f"{moment.written} of {ANSWERS[0]}"
    return si(moment.waited_s, "s"), written, held


def _sentence(before: Moment, moment: Moment) -> str:
    """What the iteration that has just ended did with A."""
    others = " and ".join(NAMES[i] for i in moment.beside)
    if moment.station == "arrival":
        return (
            f"A arrives with a prompt of {PROMPT:,} tokens. The server runs {SLOTS} "
            "requests at a time, and B, C and D hold all the places: A queues."
        )
    if moment.station == "queue":
        return _queue(moment)
    if moment.station == "prefill":
        return _prefill(before, moment, others)
    if moment.station == "end":
        return (
            f"A has its {ANSWERS[0]} tokens, {si(moment.waited_s, 's')} after it "
            "arrived. Its place is free, and so is the memory of its cache."
        )
    return (
        f"Decode: one pass over the weights, {si(moment.seconds, 's')}, gives a token "
        f"each to A, {others}. "
        f"A has {moment.written} of {ANSWERS[0]}."
    )


def _queue(moment: Moment) -> str:
    if len(moment.beside) == SLOTS and moment.at_s < _admitted_s():
        return (
            f"A waits. Each iteration, {si(moment.seconds, 's')} long, gives B, C and "
            "D one token each."
        )
    return (
        "B has its last token and leaves. Before the next iteration A takes its place."
    )


def _admitted_s() -> float:
    """When the iteration ends after which A has a place."""
    return max(m.at_s for m in moments() if m.station == "queue")


def _prefill(before: Moment, moment: Moment, others: str) -> str:
    beside = f"beside one token each of {others}"
    if not before.read:
        return (
            f"Prefill: an iteration takes at most {BUDGET} tokens, so {moment.rows} of "
            f"A's prompt are read, {beside}. It takes {si(moment.seconds, 's')}: "
            f"{others} wait longer for their tokens, too."
        )
    return (
        f"The other {moment.rows} are read, {beside}, and A gets its first token: the "
        f"time to first token (TTFT) is {si(ttft_s(), 's')}."
    )
