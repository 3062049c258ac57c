"""Routing, stepped: which decode GPU takes the cache, under four rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmserve_lab.disaggregation.routing import (
    FRESH,
    NEAR,
    ROUTERS,
    SHARED,
    Router,
    Sent,
    four,
    mean_delay_s,
    routed,
)
from llmserve_lab.formula.text import si
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis

SHOWN, BEFORE = 8, 264  # of the four hundred, a stretch in which each is usual
WRONG = 4  # the frame in which the first rule is most wrong: the figure opens there
RUN = 400  # requests of the mean
MS = 1e3
UNTIL_MS, GAP_MS = 110.0, 1.5  # of the axis, and between a bar and its words
Row = dict[str, Any]
LINKS = {place.name: place.link for place in four()}
LANES = {
    name: f"{name}, {'NVLink' if link == NEAR else 'InfiniBand'}"
    for name, link in LINKS.items()
}


def routes_by_rule() -> StepFigure:
    """Eight requests to four decode GPUs that are busy already, under each rule."""
    logs = {
        name: _log(routed(router, num_requests=BEFORE + SHOWN)[BEFORE:], router)
        for name, router in ROUTERS.items()
    }
    last = SHOWN - 1
    names = list(ROUTERS)
    return StepFigure(
        name="routing",
        title="The shortest bar is best: it ends with the later of queue and sending",
        scene=Scene(
            x=SceneAxis((0, UNTIL_MS), "time until it could decode (ms)"),
            y=SceneAxis(tuple(LANES.values())),
            marks=(
                Cells(table="bars", x2="x2"),
                Labels(table="words", align="left"),
            ),
            height=160,
        ),
        logs=logs,
        stills=((names[0], WRONG), (names[1], last), (names[3], WRONG)),
        start=WRONG,
        legend={
            "idle": "its queue",
            "communication": "sending, beyond the queue",
        },
        counters=(
            Counter("this request waits"),
            Counter("tokens sent"),
            Counter(f"mean wait of {RUN} requests"),
        ),
    )


def _log(sent: Sequence[Sent], router: Router) -> StepLog:
    mean_s = mean_delay_s(router, num_requests=RUN)
    frames = tuple(_frame(sent[: n + 1], mean_s) for n in range(len(sent)))
    bars, words = list[Row](), list[Row]()
    for number, each in enumerate(sent):
        alive = {"since": number, "until": number + 1}
        both = zip(LANES.items(), each.queues_s, each.transfers_s, strict=True)
        for (name, lane), queue_s, transfer_s in both:
            begins, ends = MS * queue_s, MS * max(queue_s, transfer_s)
            if queue_s:
                bars.append(_bar(lane, 0, begins, "idle") | alive)
            if ends > begins:
                bars.append(_bar(lane, begins, ends, "communication") | alive)
            words.append(
                {"x": ends + GAP_MS, "y": lane, "text": _said(each, name)} | alive
            )
    return StepLog(frames, {"bars": bars, "words": words})


def _bar(lane: str, x: float, x2: float, ink: str) -> Row:
    return {"y": lane, "x": round(x, 3), "x2": round(x2, 3), "ink": ink}


def _said(each: Sent, name: str) -> str:
    """What a GPU holds, and whether it was chosen."""
    held = f"holds {SHARED:,}" if name in each.holders else "holds none"
    return f"◀ chosen, {held}" if name == each.place else held


def _frame(sent: Sequence[Sent], mean_s: float) -> Frame:
    now = sent[-1]
    where = "in the same node" if LINKS[now.place] == NEAR else "in another node"
    held = (
        f"it holds the beginning, so {FRESH:,} tokens are sent"
        if now.tokens == FRESH
        else f"it holds nothing of it, so all {SHARED + FRESH:,} tokens are sent"
    )
    queue = f" after {si(now.queue_s, 's', 2)} in its queue" if now.queue_s else ""
    return Frame(
        f"Request {BEFORE + len(sent)}, of conversation {now.talk + 1}, goes to "
        f"{now.place} {where}{queue}; {held}.",
        (si(now.delay_s, "s"), f"{now.tokens:,}", si(mean_s, "s")),
    )


def means() -> dict[str, float]:
    """Mean wait of four hundred requests, by rule."""
    return {
        name: mean_delay_s(router, num_requests=RUN) for name, router in ROUTERS.items()
    }
