"""Static and continuous batching, stepped: which request holds which slot, and when."""

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
WORDS = 500  # iterations, as wide as the words that say when a request arrived
POLICIES: dict[str, Policy] = {
    "static batching": Static(SLOTS),
    "continuous batching": Continuous(SLOTS),
}
ROWS = ("slot 1", "slot 2", "C waits", "D waits")
Row = dict[str, Any]


def served(policy: Policy) -> Report:
    """The four requests under one scheduler, every iteration logged."""
    return logged(four(), policy, cost())


def slots_by_iteration() -> StepFigure:
    """The same four requests in two slots, under either scheduler."""
    reports = {name: served(policy) for name, policy in POLICIES.items()}
    logs = {name: _log(name, report) for name, report in reports.items()}
    longest = max(stay.left for report in reports.values() for stay in stays(report))
    static, other = logs
    last = len(logs[static].frames) - 1
    return StepFigure(
        name="slots",
        title="A static batch wastes slots; continuous batching refills them",
        scene=Scene(
            x=SceneAxis((0, longest), f"iterations done ({_lasting(reports)} each)"),
            y=SceneAxis(ROWS),
            marks=(
                Cells(table="waits", x2="x2", text="text", opacity="faint", grows=True),
                Cells(table="runs", x2="x2", text="text", grows=True),
                Labels(table="arrivals", align="left", grows=True),
            ),
            height=130,
        ),
        logs=logs,
        start=last,
        stills=((static, 3), (static, last), (other, last)),
        legend={
            **{LETTERS[each.id]: _asks(each) for each in four()},
            "idle": "wasted: slot held, token thrown away",
        },
        counters=(
            Counter("time since the start", "s"),
            Counter("wasted slot-steps"),
            Counter("C's time to first token"),
            Counter("answers complete"),
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


def _log(name: str, report: Report) -> StepLog:
    found = stays(report)
    moments = _static(found) if name.startswith("static") else _continuous(found)
    shown = [
        Frame(sentence, _counters(found, at, report), at=float(at))
        for at, sentence in moments
    ]
    return StepLog(
        tuple(shown), {"runs": _runs(found), "waits": _waits(found), **_arrivals(found)}
    )


def _runs(found: Sequence[Stay]) -> list[Row]:
    """Each stay as a bar of its request, and a hatched one where it is wasted."""
    rows = []
    for stay in found:
        slot, letter = f"slot {stay.slot + 1}", LETTERS[stay.id]
        rows.append(_row(stay.first, stay.done, slot, letter, letter))
        if stay.idle:
            rows.append(_row(stay.done, stay.left, slot, "idle", ""))
    return rows


def _waits(found: Sequence[Stay]) -> list[Row]:
    """From arrival to admission, in pale."""
    return [
        _row(s.arrived, s.first, f"{LETTERS[s.id]} waits", LETTERS[s.id], "")
        | {"faint": 0.4}
        for s in found
        if s.first > s.arrived
    ]


def _arrivals(found: Sequence[Stay]) -> dict[str, list[Row]]:
    """When those that come later arrived, in words, where no bar ends under them."""
    arrival_s = {request.id: request.arrival_s for request in four()}
    rows = []
    for stay in (each for each in found if arrival_s[each.id] > 0):
        fits = stay.first - stay.arrived > WORDS or stay.first == stay.arrived
        when = si(arrival_s[stay.id], "s")
        words = f" arrives at {when}" if fits else f" ◂ arrived at {when}"
        x = stay.arrived if fits else stay.first
        rows.append({"x": x, "y": f"{LETTERS[stay.id]} waits", "text": words})
    return {"arrivals": rows}


def _row(x: int, x2: int, y: str, ink: str, text: str) -> Row:
    return {"x": x, "x2": x2, "y": y, "ink": ink, "text": text}


def _counters(
    found: Sequence[Stay], now: int, report: Report
) -> tuple[float | str, ...]:
    idle = sum(max(0, min(now, stay.left) - stay.done) for stay in found)
    sent = sum(stay.done <= now for stay in found)
    (late,) = (stay for stay in found if stay.id == LATE)
    waited = "not here yet" if now < late.arrived else "waiting"
    if now > late.first:
        waited = si(float(report.ttft_s[report.id == LATE][0]), "s")
    ends = [frame.end_s for frame in frames(report)]
    return round(ends[now - 1], 2), float(idle), waited, f"{sent} of {len(found)}"


def _opening(found: Sequence[Stay]) -> list[tuple[int, str]]:
    """What both schedulers do alike."""
    a, b, *_ = sorted(found, key=lambda stay: stay.id)
    return [
        (
            a.done // 2,
            "A and B run. The first iteration read their prompts; each gives each of "
            "them one token.",
        ),
        (
            a.done,
            f"A has its {a.done} tokens and is complete. B wants "
            f"{b.done - a.done} more.",
        ),
    ]


def _static(found: Sequence[Stay]) -> list[tuple[int, str]]:
    """The static batch, moment by moment."""
    a, b, c, d = sorted(found, key=lambda stay: stay.id)
    batch = a.left
    return [
        *_opening(found),
        (
            c.arrived + 20,
            "C has arrived. Slot 1 computes tokens that are thrown away, but the batch "
            "is closed: C waits.",
        ),
        (
            (d.arrived + batch) // 2,
            "D has arrived, too. Both wait for the longest answer of the batch, B's.",
        ),
        (
            batch,
            f"B has its {b.done:,} tokens, the batch is over. Only now C and D begin.",
        ),
        (
            min(c.done, d.done),
            "The second batch does the same: its shorter answer waits for the longer.",
        ),
        (
            max(c.left, d.left),
            f"All answers are out after {max(c.left, d.left):,} iterations. "
            f"{sum(stay.idle for stay in found):,} slot-steps were wasted.",
        ),
    ]


def _continuous(found: Sequence[Stay]) -> list[tuple[int, str]]:
    """Continuous batching, moment by moment."""
    _, b, c, d = sorted(found, key=lambda stay: stay.id)
    return [
        *_opening(found),
        (
            c.first + 20,
            "A has left, and slot 1 was free. C has arrived and runs "
            "from the next iteration on.",
        ),
        (
            (d.arrived + d.first) // 2,
            "D has arrived. Both slots are taken, so it waits for the first free one.",
        ),
        (d.first + 20, "C is complete and has left; D has taken its slot."),
        (
            (d.left + b.left) // 2,
            "D is complete. Nothing waits, so slot 1 is free and costs nothing.",
        ),
        (
            max(b.left, d.left),
            f"All answers are out after {max(b.left, d.left):,} iterations, and no "
            "token was thrown away.",
        ),
    ]
