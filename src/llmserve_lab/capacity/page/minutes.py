"""A burst under an autoscaler, minute by minute: arrivals, replicas, missed targets."""

from __future__ import annotations

from typing import Any

from llmserve_lab.capacity.autoscaling import WINDOW_S
from llmserve_lab.capacity.runs import (
    FAST_S,
    HIGH,
    LASTS_MIN,
    MOST,
    SLOW_S,
    Stored,
    burst,
    scaled_run,
)
from llmserve_lab.capacity.trace import MINUTE_S, per_bin
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Scene, SceneAxis

QUEUE, KV = "waiting requests, 5 a replica", "KV cache in use, 80%"
FLIGHT = "requests in flight, 35 a replica"
SHOWN = {
    "in flight, slow": (FLIGHT, SLOW_S),
    "in flight, fast": (FLIGHT, FAST_S),
    "queue, slow": (QUEUE, SLOW_S),
    "KV 80%, slow": (KV, SLOW_S),
}
ARRIVE, MISS = "arrive /s", "late %"
REPLICAS = tuple(f"replica {place}" for place in range(1, MOST + 1))
LAST = int(LASTS_MIN) - 1  # the last minute that is seen to its end
SEEN = 0.02  # share of a minute's requests below which a cell would be invisible
Row = dict[str, Any]


def burst_by_minute() -> StepFigure:
    """The same burst under four autoscalers; a replica that starts is hatched."""
    logs = {name: _log(scaled_run(*which)) for name, which in SHOWN.items()}
    slow, fast, *_, never = logs
    return StepFigure(
        name="burst",
        title="What is ordered in a burst serves only after the cold start",
        scene=Scene(
            x=SceneAxis((0, LAST), "minutes"),
            y=SceneAxis((ARRIVE, *REPLICAS, MISS)),
            marks=(
                Cells(table="rates", x2="x2", text="text", opacity="faint"),
                Cells(table="runs", x2="x2", text="text", grows=True),
                Cells(table="late", x2="x2", text="text", opacity="faint"),
            ),
            height=260,
        ),
        logs=logs,
        start=LAST - 1,
        stills=((slow, 10), (fast, LAST - 1), (never, LAST - 1)),
        legend={
            "compute": "requests that arrive per second",
            "new": "replica that serves",
            "idle": "replica that starts: paid for, does not serve",
            "other": "percent of the requests that miss a target",
        },
        counters=(
            Counter("replicas that serve"),
            Counter("replicas that start"),
            Counter("requests that wait for a slot"),
            Counter("late so far"),
        ),
    )


def _log(run: Stored) -> StepLog:
    arrived = [int(each) for each in per_bin(burst())]
    frames = []
    for at in range(LAST):
        serves, starts = run.ready[at], run.starting[at]
        late = sum(run.missed[: at + 1])
        counters = (serves, starts, f"{run.waiting[at]:,}", f"{late:,}")
        frames.append(Frame(_said(at, arrived, run), counters, at=float(at + 1)))
    tables = {
        "rates": [_rate(at, arrived) for at in range(0, LAST, 2)],
        "runs": _runs(run),
        "late": [
            _missed(at, run, arrived)
            for at in range(0, LAST, 2)
            if sum(run.missed[at : at + 2]) >= SEEN * sum(arrived[at : at + 2])
        ],
    }
    return StepLog(tuple(frames), tables)


def _said(at: int, arrived: list[int], run: Stored) -> str:
    """What a dashboard would show at the end of a minute, in words."""
    share = run.missed[at] / arrived[at]
    serves, starts = run.ready[at], run.starting[at]
    plural = "replica serves" if serves == 1 else "replicas serve"
    more = f", {starts} more will" if starts else ""
    return (
        f"Minute {at + 1}: {arrived[at] / WINDOW_S:.0f} requests a second arrive; "
        f"{serves} {plural}{more}; {share:.0%} of the minute's requests get an answer "
        "that misses a target."
    )


def _rate(at: int, arrived: list[int]) -> Row:
    """Two minutes of arrivals, seen once they are over."""
    both = arrived[at : min(at + 2, LAST)]
    rate = sum(both) / (len(both) * WINDOW_S)
    faint = 0.6 + 0.4 * min(1.0, rate / HIGH)
    end = at + len(both)
    cell = _cell(at, end, ARRIVE, "compute", f"{rate:.0f}")
    return cell | {"faint": round(faint, 2), "since": end - 1}


def _missed(at: int, run: Stored, arrived: list[int]) -> Row:
    """Two minutes of requests that miss a target, in percent, as ``_rate``."""
    end = min(at + 2, LAST)
    share = sum(run.missed[at:end]) / sum(arrived[at:end])
    row = _cell(at, end, MISS, "other", f"{100 * share:.0f}")
    return row | {"faint": round(0.6 + 0.4 * share, 2), "since": end - 1}


def _runs(run: Stored) -> list[Row]:
    """Spans in which a replica starts or serves, from its order to its end."""
    rows = []
    for place, *seconds in run.spans:
        ordered, ready, gone = (min(s / MINUTE_S, LAST) for s in seconds)
        for begin, end, ink in ((ordered, ready, "idle"), (ready, gone, "new")):
            if begin < end:
                rows.append(_cell(begin, end, REPLICAS[place], ink, ""))
    return rows


def _cell(x: float, x2: float, y: str, ink: str, text: str) -> Row:
    return {"x": x, "x2": x2, "y": y, "ink": ink, "text": text}
