"""A step figure that several tests share: three requests, two slots, two schedulers."""

from typing import Any

from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.pictures import slot_grid

LENGTHS = {"A": 3, "B": 8, "C": 4}
SLOTS = ("slot 1", "slot 2")
UNTIL = 14


def played(*, continuous: bool) -> StepLog:
    """Run the three requests on two slots, iteration by iteration, and keep the log."""
    waiting, left = list(LENGTHS), dict(LENGTHS)
    slots: list[str | None] = [None, None]
    cells: list[dict[str, Any]] = []
    frames = [Frame("Nothing has run: A, B and C wait.", (0.0, "not yet"))]
    first, idle = "not yet", 0
    for step in range(UNTIL):
        if continuous or not any(name and left[name] for name in slots):
            for i, name in enumerate(slots):
                if waiting and (name is None or not left[name]):
                    slots[i] = waiting.pop(0)
        ran = []
        for slot, name in zip(SLOTS, slots, strict=True):
            works = bool(name and left[name])
            ink, text = (name, name) if works else ("idle", "")
            cell = {"slot": slot, "start": step, "end": step + 1}
            cells.append({**cell, "ink": ink, "text": text})
            if works and name:
                left[name] -= 1
                ran.append(name)
                if name == "C" and first == "not yet":
                    first = f"{step + 1} iterations"
        idle += 2 - len(ran)
        said = " and ".join(ran) or "nobody"
        frames.append(Frame(f"Iteration {step + 1} ran for {said}.", (idle, first)))
        if not waiting and not any(left.values()):
            break
    return StepLog(tuple(frames), {"cells": cells})


def steps(**changes: Any) -> StepFigure:
    """The figure, with some of its parts replaced."""
    parts: dict[str, Any] = {
        "name": "static-or-continuous",
        "title": "A finished request keeps its slot until the batch is done",
        "scene": slot_grid(SLOTS, UNTIL),
        "logs": {
            "static": played(continuous=False),
            "continuous": played(continuous=True),
        },
        "stills": (("static", 4), ("static", 9), ("continuous", 4)),
        "legend": {
            "A": "request A", "B": "request B", "C": "request C", "idle": "idle slot",
        },
        "counters": (Counter("idle slot-steps"), Counter("first token of C after")),
        "goal": Goal(
            "find the first frame in which C runs",
            lambda log, frame: (log < 1) & (frame >= 9) & (frame <= 9),
            {"log": "static", "frame": 9},
        ),
    }  # fmt: skip
    return StepFigure(**{**parts, **changes})
