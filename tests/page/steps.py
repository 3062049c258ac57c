"""A step figure that several tests share: three requests, two slots, two schedulers."""

from typing import Any

from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.pictures import around, message, ring, slot_grid

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


def ringed() -> StepFigure:
    """Four GPUs pass their shards around a ring, each step executed on lists."""
    names = ("GPU 0", "GPU 1", "GPU 2", "GPU 3")
    held, where = [[i] for i in range(4)], around(names)
    frames, messages = [Frame("Each GPU holds one shard.", (1.0,))], []
    for step in range(3):
        sent = [shards[-1] for shards in held]
        for i, shard in enumerate(sent):
            row = {"since": step + 1, "until": step + 2, "text": f"shard {shard}"}
            messages.append(message(where, names[i], names[(i + 1) % 4], **row))
            held[(i + 1) % 4].append(shard)
        said = f"Step {step + 1}: every GPU sends one shard to its neighbour."
        frames.append(Frame(said, (float(len(held[0])),)))
    return StepFigure(
        name="ring-all-gather",
        title="Three steps give four GPUs all four shards",
        scene=ring(names),
        logs={"ring": StepLog(tuple(frames), {"messages": messages})},
        stills=(("ring", 0), ("ring", 1), ("ring", 3)),
        legend={"communication": "a shard on its way"},
        counters=(Counter("shards on each GPU"),),
    )
