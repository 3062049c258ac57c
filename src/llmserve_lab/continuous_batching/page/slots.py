"""Static and continuous batching, stepped together: what holds each slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmserve_lab.continuous_batching.occupancy import Stay, frames, logged, stays
from llmserve_lab.continuous_batching.workloads import LETTERS, four
from llmserve_lab.engine import Continuous, Policy, Report, Request, Static
from llmserve_lab.formula.text import si
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.running_example import cost

SLOTS = 2
LATE = 2  # C, whose wait is counted
POLICIES: dict[str, Policy] = {
    "static batching": Static(SLOTS),
    "continuous batching": Continuous(SLOTS),
}
ROWS = (
    "static 1",
    "static 2",
    "C waits",
    "D waits",
    "continuous 1",
    "continuous 2",
    "D waits ",
)
PLACES = {"static batching": ROWS[:4], "continuous batching": ROWS[4:]}
Row = dict[str, Any]
Found = dict[str, list[Stay]]  # the stays under each scheduler


def served(policy: Policy) -> Report:
    """The four requests under one scheduler, every iteration logged."""
    return logged(four(), policy, cost())


def slots_by_iteration() -> StepFigure:
    """The same four requests in two slots, under both schedulers at once."""
    reports = {name: served(policy) for name, policy in POLICIES.items()}
    found = {name: stays(report) for name, report in reports.items()}
    longest = max(stay.left for each in found.values() for stay in each)
    frames_ = tuple(
        Frame(sentence, _counters(found, reports, at), at=float(at))
        for at, sentence in _story(*found.values())
    )
    tables = {"runs": _runs(found), "waits": _waits(found)}
    name = "both"
    last = len(frames_) - 1
    return StepFigure(
        name="slots",
        title="A static batch keeps C waiting; continuous batching lets it in",
        scene=Scene(
            x=SceneAxis((0, longest), f"iterations done ({_lasting(reports)} each)"),
            y=SceneAxis(ROWS),
            marks=(
                Cells(table="waits", x2="x2", opacity="faint", grows=True),
                Cells(table="runs", x2="x2", text="text", grows=True),
                Labels(table="waits", align="left", grows=True),
            ),
            height=170,
        ),
        logs={name: StepLog(frames_, tables)},
        start=last,
        stills=((name, 2), (name, 4), (name, last)),
        legend={
            **{LETTERS[each.id]: _asks(each) for each in four()},
            "idle": "wasted: slot held, token thrown away",
        },
        counters=(
            Counter("wasted slot-steps, static"),
            Counter("C's first token, static"),
            Counter("C's first token, continuous"),
            Counter("complete: static, continuous"),
        ),
    )


def _lasting(reports: dict[str, Report]) -> str:
    """From the shortest to the longest of all iterations."""
    took = [f.end_s - f.start_s for run in reports.values() for f in frames(run)]
    return f"{1e3 * min(took):.0f} to {1e3 * max(took):.0f} ms"


def _asks(request: Request) -> str:
    """What a request brings and gets."""
    return (
        f"{LETTERS[request.id]}: prompt {request.prompt_len:,}, "
        f"answer {request.output_len:,}"
    )


def _runs(found: Found) -> list[Row]:
    """Each stay as a bar of its request, and a hatched one where it is wasted."""
    rows = []
    for name, each in found.items():
        for stay in each:
            slot, letter = PLACES[name][stay.slot], LETTERS[stay.id]
            rows.append(_row(stay.first, stay.done, slot, letter, letter))
            if stay.idle:
                rows.append(_row(stay.done, stay.left, slot, "idle", ""))
    return rows


def _waits(found: Found) -> list[Row]:
    """From arrival to admission, in pale, with the moment of arrival in words."""
    arrival_s = {request.id: request.arrival_s for request in four()}
    rows = []
    for name, each in found.items():
        for stay in each:
            place = f"{LETTERS[stay.id]} waits"
            rooms = [room for room in PLACES[name] if room.strip() == place]
            words = f" came at {si(arrival_s[stay.id], 's')}"
            rows += [
                _row(stay.arrived, stay.first, room, LETTERS[stay.id], words)
                | {"faint": 0.4}
                for room in rooms
            ]
    return rows


def _row(x: int, x2: int, y: str, ink: str, text: str) -> Row:
    return {"x": x, "x2": x2, "y": y, "ink": ink, "text": text}


def _counters(
    found: Found, reports: dict[str, Report], now: int
) -> tuple[float | str, ...]:
    static, other = found
    idle = sum(max(0, min(now, s.left) - s.done) for s in found[static])
    sent = ", ".join(f"{sum(s.done <= now for s in each)}" for each in found.values())
    waits = (_ttft(found[name], reports[name], now) for name in (static, other))
    return float(idle), *waits, sent


def _ttft(found: Sequence[Stay], report: Report, now: int) -> str:
    """C's time to first token as far as it is known."""
    (late,) = (stay for stay in found if stay.id == LATE)
    if now > late.first:
        return si(float(report.ttft_s[report.id == LATE][0]), "s")
    return "not here yet" if now < late.arrived else "waiting"


def _story(static: Sequence[Stay], other: Sequence[Stay]) -> list[tuple[int, str]]:
    """Both schedulers, moment by moment."""
    a, b, c, d = sorted(static, key=lambda stay: stay.id)
    _, _, c_in, d_in = sorted(other, key=lambda stay: stay.id)
    return [
        (
            a.done // 2,
            "A and B run. The first iteration read their prompts; each gives each of "
            "them one token.",
        ),
        (
            a.done + 20,
            f"A has its {a.done} tokens. The static batch keeps its slot; under "
            "continuous batching the slot is free, and empty.",
        ),
        (
            c_in.first + 20,
            "C has arrived. The static batch is closed: C waits beside a slot that "
            "computes waste. Continuous batching has let C in.",
        ),
        (
            (d_in.arrived + d_in.first) // 2,
            "D has arrived. Under continuous batching it waits for the first free "
            "slot, under static batching for B, the longest answer.",
        ),
        (
            (d_in.done + d_in.first) // 2,
            "Under continuous batching C is complete and D has taken its slot. "
            "In the static batch both still wait.",
        ),
        (
            b.done,
            f"B has its {b.done:,} tokens. Under continuous batching all is done; the "
            "second static batch, C and D, only now begins.",
        ),
        (
            max(c.left, d.left),
            f"Static: {max(c.left, d.left):,} iterations, "
            f"{sum(stay.idle for stay in static):,} slot-steps wasted. Continuous: "
            f"{max(stay.left for stay in other):,}, none wasted.",
        ),
    ]
