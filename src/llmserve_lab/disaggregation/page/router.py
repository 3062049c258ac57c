"""Routing, stepped: which decode GPU takes the cache, under four rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmserve_lab.disaggregation.routing import (
    FRESH,
    NEAR,
    ROUTERS,
    SHARED,
    Sent,
    four,
    mean_delay_s,
    routed,
)
from llmserve_lab.formula.text import si
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.pictures import graph

SHOWN, BEFORE = 8, 131  # of the four hundred, a stretch in which each is usual
HEIGHT = 300
Row = dict[str, Any]
PLACES = {f"D{i + 1}": (0.75, 0.95 - 0.3 * i) for i in range(4)}
SOURCE = (0.05, 0.5)


def routes_by_rule() -> StepFigure:
    """Eight requests to four decode GPUs that are busy already, under each rule."""
    logs = {
        name: _log(routed(router, num_requests=BEFORE + SHOWN)[BEFORE:])
        for name, router in ROUTERS.items()
    }
    last = SHOWN - 1
    names = list(ROUTERS)
    return StepFigure(
        name="routing",
        title="A router weighs the link, the queue, and what is held already",
        scene=graph({"nodes": _nodes()}, height=HEIGHT),
        logs=logs,
        stills=((names[0], last), (names[1], last), (names[3], last)),
        start=2,
        legend={
            "communication": "cache on its way",
            "other": "GPU: D1 and D2 in the same node, D3 and D4 in another",
        },
        counters=(
            Counter("this request waits"),
            Counter("tokens sent"),
            Counter("mean wait so far"),
        ),
    )


def _nodes() -> list[Row]:
    nodes = [{"x": SOURCE[0], "y": SOURCE[1], "text": "P", "ink": "other"}]
    return nodes + [
        {"x": x, "y": y, "text": name, "ink": "other"}
        for name, (x, y) in PLACES.items()
    ]


def _log(sent: Sequence[Sent]) -> StepLog:
    frames = tuple(_frame(sent[: number + 1]) for number in range(len(sent)))
    messages, words = [], []
    for number, each in enumerate(sent):
        alive = {"since": number, "until": number + 1}
        x2, y2 = PLACES[each.place]
        messages.append(
            {
                "x": SOURCE[0],
                "y": SOURCE[1],
                "x2": x2,
                "y2": y2,
                "ink": "communication",
                "text": f"{each.tokens:,} tokens",
                **alive,
            }
        )
        for (x, y), wait_s in zip(PLACES.values(), each.queues_s, strict=True):
            said = f"busy for {si(wait_s, 's', 2)}" if wait_s else "free"
            words.append({"x": x + 0.25, "y": y, "text": said, **alive})
    return StepLog(frames, {"messages": messages, "words": words})


def _frame(sent: Sequence[Sent]) -> Frame:
    now, mean_s = sent[-1], sum(each.delay_s for each in sent) / len(sent)
    links = {place.name: place.link for place in four()}
    where = "in the same node" if links[now.place] == NEAR else "in another node"
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
    return {name: mean_delay_s(router) for name, router in ROUTERS.items()}
