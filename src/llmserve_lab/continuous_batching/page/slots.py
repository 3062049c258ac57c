"""Static and continuous batching, stepped: what holds each slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmserve_lab.continuous_batching.occupancy import Stay, frames, logged, stays
from llmserve_lab.continuous_batching.workloads import LETTERS, four
from llmserve_lab.engine import Continuous, Policy, Report, Request, Static
from llmserve_lab.formula.text import si
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Scene, SceneAxis
from llmserve_lab.running_example import cost

SLOTS = 2
LATE = 2  # C, whose wait is counted
POLICIES: dict[str, Policy] = {
    "static batching": Static(SLOTS),
    "continuous batching": Continuous(SLOTS),
}
ROWS = ("slot 1", "slot 2", "C waits", "D waits")
ENDS = 0.02  # seconds after a moment, so that what it brings is drawn
Row = dict[str, Any]


def served(policy: Policy) -> Report:
    """The four requests under one scheduler, every iteration logged."""
    return logged(four(), policy, cost())


def slots_by_iteration() -> StepFigure:
    """The same four requests in two slots, under either scheduler."""
    reports = {name: served(policy) for name, policy in POLICIES.items()}
    longest_s = max(float(run.elapsed_s) for run in reports.values())
    logs = {name: _log(report) for name, report in reports.items()}
    static, other = logs
    ends = {name: len(log.frames) - 1 for name, log in logs.items()}
    return StepFigure(
        name="slots",
        title="C waits until the scheduler decides again",
        scene=Scene(
            x=SceneAxis((0, round(longest_s, 2)), "time (s)"),
            y=SceneAxis(ROWS),
            marks=(
                Cells(table="waits", x2="x2", text="text", opacity="faint", grows=True),
                Cells(table="runs", x2="x2", text="text", grows=True),
            ),
            height=120,
        ),
        logs=logs,
        start=ends[static],
        stills=((static, 2), (static, ends[static]), (other, ends[other])),
        legend={
            **{LETTERS[each.id]: _asks(each) for each in four()},
            "idle": "wasted: the slot is held, its token thrown away",
        },
        counters=(
            Counter("wasted slot-steps"),
            Counter("C's time to first token"),
            Counter("answers complete"),
        ),
    )


def _asks(request: Request) -> str:
    """What a request brings and gets."""
    return (
        f"{LETTERS[request.id]}: prompt {request.prompt_len:,}, "
        f"answer {request.output_len:,}"
    )


def _log(report: Report) -> StepLog:
    """One scheduler's story, on the clock."""
    found, run = stays(report), frames(report)
    starts_s = [moment.start_s for moment in run] + [run[-1].end_s]
    told = _static(found) if len({s.left for s in found}) < 3 else _continuous(found)
    shown = tuple(
        Frame(sentence, _counters(found, report, at), at=round(starts_s[at] + ENDS, 2))
        for at, sentence in told
    )
    return StepLog(
        shown, {"runs": _runs(found, starts_s), "waits": _waits(found, starts_s)}
    )


def _runs(found: Sequence[Stay], starts_s: Sequence[float]) -> list[Row]:
    """Each stay as a bar of its request, and a hatched one where it is wasted."""
    rows = []
    for stay in found:
        slot, letter = ROWS[stay.slot], LETTERS[stay.id]
        first, done, left = (starts_s[i] for i in (stay.first, stay.done, stay.left))
        rows.append(_row(first, done, slot, letter, letter))
        if stay.idle:
            rows.append(_row(done, left, slot, "idle", ""))
    return rows


def _waits(found: Sequence[Stay], starts_s: Sequence[float]) -> list[Row]:
    """From arrival to admission, in pale."""
    arrival_s = {request.id: request.arrival_s for request in four()}
    rows = []
    for stay in found:
        letter, place = LETTERS[stay.id], f"{LETTERS[stay.id]} waits"
        if place in ROWS:
            came, first = arrival_s[stay.id], starts_s[stay.first]
            rows.append(_row(came, first, place, letter, letter) | {"faint": 0.4})
    return rows


def _row(x: float, x2: float, y: str, ink: str, text: str) -> Row:
    return {"x": round(x, 3), "x2": round(x2, 3), "y": y, "ink": ink, "text": text}


def _counters(
    found: Sequence[Stay], report: Report, now: int
) -> tuple[float | str, ...]:
    idle = sum(max(0, min(now, stay.left) - stay.done) for stay in found)
    return (
        float(idle),
        _ttft(found, report, now),
        float(sum(s.done <= now for s in found)),
    )


def _ttft(found: Sequence[Stay], report: Report, now: int) -> str:
    """C's time to first token as far as it is known."""
    (late,) = (stay for stay in found if stay.id == LATE)
    if now > late.first:
        return si(float(report.ttft_s[report.id == LATE][0]), "s")
    return "not here yet" if now < late.arrived else "waiting"


def _static(found: Sequence[Stay]) -> list[tuple[int, str]]:
    """The static batch, moment by moment: iterations done, and what happens."""
    a, b, c, d = sorted(found, key=lambda stay: stay.id)
    return [
        (
            a.done // 2,
            "A and B run. The first iteration read their prompts; each later one gives "
            "each of them one token.",
        ),
        (
            a.done + 20,
            f"A has its {a.done} tokens, but the batch keeps A's slot. It goes on "
            "computing tokens that are thrown away.",
        ),
        (
            c.arrived + 20,
            "C has arrived. The batch is closed: C waits beside a slot that computes "
            "waste.",
        ),
        (
            (d.arrived + b.done) // 2,
            "D has arrived, too. Both wait for B, the longest answer.",
        ),
        (
            b.done,
            f"B has its {b.done:,} tokens, and the batch is complete. Only now does "
            "the second batch begin, with C and D.",
        ),
        (
            max(c.left, d.left),
            f"All is done after {max(c.left, d.left):,} iterations. "
            f"{sum(stay.idle for stay in found):,} slot-steps were wasted in the two "
            "batches together.",
        ),
    ]


def _continuous(found: Sequence[Stay]) -> list[tuple[int, str]]:
    """Continuous batching, moment by moment."""
    a, b, c, d = sorted(found, key=lambda stay: stay.id)
    return [
        (
            a.done // 2,
            "A and B run. So far nothing differs from the static batch.",
        ),
        (
            a.done + 20,
            f"A has its {a.done} tokens and leaves. Its slot is free, and computes "
            "nothing.",
        ),
        (
            c.first + 20,
            "C has arrived. The next iteration took it into the free slot and read its "
            "prompt.",
        ),
        (
            (d.arrived + d.first) // 2,
            "D has arrived. No slot is free, so D waits until C is complete.",
        ),
        (
            (d.done + d.first) // 2,
            "C is complete, and D has taken its slot in the next iteration.",
        ),
        (
            b.done,
            f"All is done after {b.done:,} iterations. No slot-step was wasted.",
        ),
    ]
