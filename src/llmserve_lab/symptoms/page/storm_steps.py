"""A preemption storm, stepped: lanes of requests, and the memory that they share."""

from __future__ import annotations

from typing import Any

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Scene, SceneAxis, Ticks
from llmserve_lab.page.step.pictures import lifetimes
from llmserve_lab.symptoms.storm import (
    ANSWERS,
    BLOCKS,
    LETTERS,
    PROMPT,
    SLOTS,
    frames,
    held_blocks,
    served,
    stretches,
)

MEMORY = "memory"
ROWS = (MEMORY, *LETTERS)
Row = dict[str, Any]


def storm() -> StepFigure:
    """The same four requests with four slots and with two."""
    logs = {name: _log(name) for name in SLOTS}
    four, two = logs
    moments = _moments(four)
    longest = max(len(frames(name)) for name in SLOTS)
    return StepFigure(
        name="storm",
        title="A preempted request is computed again; fewer slots avoid it",
        scene=Scene(
            x=SceneAxis((0, longest), "iterations done"),
            y=SceneAxis(ROWS),
            marks=(
                Cells(table="blocks", x2="x2", text="text"),
                Cells(table="waits", x2="x2", text="text", opacity="faint", grows=True),
                Cells(table="runs", x2="x2", text="text", grows=True),
                Ticks(table="again", grows=True, thick=8),
            ),
            height=190,
        ),
        logs=logs,
        start=_returned(four),  # C and D have stood still and are computed again
        stills=((four, 1), (four, len(moments) - 1), (two, len(_moments(two)) - 1)),
        legend={
            **{
                letter: f"{letter}: prompt {PROMPT}, answer {answer}"
                for letter, answer in zip(LETTERS, ANSWERS, strict=True)
            },
            "empty": "free block",
            "new": "computed again",
        },
        counters=(
            Counter("running"),
            Counter("waiting"),
            Counter("preemptions so far"),
            Counter("tokens computed again"),
        ),
    )


def _moments(name: str) -> list[int]:
    """Iterations that are shown: the first, and each in which something happens."""
    played = frames(name)
    kinds = ("preempted", "finished", "admitted")
    found = {
        at for at, frame in enumerate(played) if any(frame.ids(kind) for kind in kinds)
    }
    return sorted({0, *found, len(played) - 1})


def _returned(name: str) -> int:
    """Place, among the moments shown, of the last return from a preemption."""
    moments, played = _moments(name), frames(name)
    return max(at for at, of in enumerate(moments) if played[of].ids("admitted"))


def _log(name: str) -> StepLog:
    moments = _moments(name)
    shown = [_frame(name, at) for at in moments]
    return StepLog(
        tuple(shown),
        {
            "blocks": lifetimes([_memory(name, at) for at in moments]),
            **_lanes(name),
        },
    )


def _width(name: str) -> float:
    return max(len(frames(each)) for each in SLOTS) / BLOCKS


def _memory(name: str, at: int) -> dict[int, Row]:
    """Each block in the ink of its holder: those of A first, the free ones last."""
    holders = [
        LETTERS[number]
        for number, blocks in sorted(held_blocks(frames(name)[at]).items())
        for _ in range(blocks)
    ]
    wide = _width(name)
    found = {}
    for place in range(BLOCKS):
        ink = holders[place] if place < len(holders) else "empty"
        text = ink if place < len(holders) else ""
        edges = {"x": place * wide, "x2": (place + 0.9) * wide, "y": MEMORY}
        found[place] = {**edges, "ink": ink, "text": text}
    return found


def _lanes(name: str) -> dict[str, list[Row]]:
    """Bars of running and, in pale, of waiting; a tick where work is done again."""
    runs, waits, again = list[Row](), list[Row](), list[Row]()
    for each in stretches(name):
        letter = LETTERS[each.id]
        edges = {"x": each.first, "x2": each.last, "y": letter, "ink": letter}
        if each.doing == "waits":
            waits.append({**edges, "text": "", "faint": 0.3})
            continue
        text = f"{letter}: {each.again} again" if each.again else letter
        runs.append({**edges, "text": text})
        if each.again:
            again.append({"x": each.first, "y": letter, "ink": "new"})
    return {"runs": runs, "waits": waits, "again": again}


def _frame(name: str, at: int) -> Frame:
    played = frames(name)
    frame = played[at]
    preempted = sum(len(each.ids("preempted")) for each in played[:at])
    again = sum(s.again for s in stretches(name) if s.first <= at)
    counters = (
        float(len(frame.running)),
        float(len(frame.waiting)),
        float(preempted),
        float(again),
    )
    return Frame(_sentence(name, at), counters, at=float(at + 1))


def _names(ids: tuple[int, ...]) -> str:
    *first, last = (LETTERS[number] for number in ids)
    return f"{', '.join(first)} and {last}" if first else last


def _sentence(name: str, at: int) -> str:
    """What happens in an iteration, in whole sentences."""
    played = frames(name)
    frame, said = played[at], list[str]()
    ends = served(name).elapsed_s
    if at == 0:
        said.append(f"Iteration 1 reads the prompts of {_names(_ids(frame))}.")
    elif admitted := frame.ids("admitted"):
        again = sum(s.again for s in stretches(name) if s.first == at)
        if again:
            said.append(
                f"{_names(admitted)} returns, and {again} tokens are computed again."
            )
        else:
            said.append(f"{_names(admitted)} is admitted.")
    if victims := frame.ids("preempted"):
        held = held_blocks(frame)
        more = sum(held_blocks(frame, 1).values()) - sum(held.values())
        free = BLOCKS - sum(held.values())
        said.append(
            f"The next tokens need {more} more blocks, and {free or 'none'} "
            f"{'is' if free == 0 else 'are'} free: {_names(victims)}, admitted last, "
            "is preempted after this iteration."
        )
    if done := frame.ids("finished"):
        said.append(f"{_names(done)} writes its last token, and leaves after it.")
    if at == len(played) - 1:
        said.append(f"All four took {at + 1} iterations, {1e3 * ends:,.0f} ms.")
    return " ".join(said)


def _ids(frame: Any) -> tuple[int, ...]:
    return tuple(each.id for each in frame.running)
