"""Batches between Attention and FFN machines, stepped: a picture of an event log.

Three Attention machines and one FFN machine, small enough to be drawn. The event
simulator runs; every bar, every place of a batch and every sentence is from its log.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

from llmserve_lab.afd.simulation.bundle import AffineTime, Bundle, Load
from llmserve_lab.afd.simulation.event_simulator import Machine, State, serving
from llmserve_lab.afd.simulation.length_distributions import (
    Geometric,
    Independent,
    Uniform,
)
from llmserve_lab.afd.simulation.run import BundleRun
from llmserve_lab.afd.simulation.slots import Requests, fill
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Links, Scene, SceneAxis

ATTENTION, SLOTS = 3, 4  # machines, and requests of a batch on each of them
FLIGHTS = {"two batches in flight": 2, "three batches in flight": 3}
SKIPPED, SHOWN = 2, 2  # rounds left out at the start, and rounds shown
US = 1e6
INKS = "ABD"  # of the batches; C is too near to the colour of caches
WINDOW = 1450.0  # microseconds of the axis; two rounds of three batches
LEFT = -280.0  # where names begin
LANES = ("A1", "A2", "A3", "wire →", "FFN", "← wire")
TOP, FIRST = 0.0, 3.9  # where the machines and the first lane are
A_BOX, WIRE, F_BOX = (0.0, 480.0), (610.0, 840.0), (970.0, 1450.0)
Row = dict[str, Any]
Bar = tuple[int, int, float, float]  # lane, batch, start and end in microseconds


def toy(n_batches: int) -> Bundle:
    """Three Attention machines at balance with one FFN machine."""
    return Bundle(
        attn=AffineTime(0.4e-6, 100e-6, "attn"),
        ffn=AffineTime(10e-6, 80e-6, "ffn"),
        wire=AffineTime(5e-6, 60e-6, "comm"),
        batch=SLOTS,
        n_attn=ATTENTION,
        n_batches=n_batches,
    )


@cache
def played(n_batches: int) -> tuple[Machine, BundleRun]:
    """The event simulator's machine and its run, some rounds in steady state."""
    law = Independent(Uniform(20, 60), Geometric(25, least=0))
    load = Load(law=law, n_requests=1, start="stationary")
    made, rounds = toy(n_batches), SKIPPED + SHOWN + 4
    parts = [
        fill(load, n_slots=SLOTS, n_steps=rounds + 1, batch=b, instance=i, seed=5)
        for b in range(n_batches)
        for i in range(ATTENTION)
    ]
    machine = serving(made, load, Requests.joined(parts))
    return machine, machine.run(rounds * n_batches)


@cache
def window(n_batches: int) -> tuple[float, float]:
    """Whole rounds: from a start of batch 1 in the FFN to one some rounds later."""
    machine, _ = played(n_batches)
    starts = [
        since * US
        for batch, state, since, _ in machine.stays()
        if state is State.FFN and batch == 0
    ]
    begin, end = sorted(starts)[SKIPPED], sorted(starts)[SKIPPED + SHOWN]
    return begin, end - begin


def bars(n_batches: int) -> list[Bar]:
    """Every stay in the window: on an Attention machine, on the wire, in the FFN."""
    machine, _ = played(n_batches)
    begin, length = window(n_batches)
    found = [
        (i, n % n_batches, (end - machine.attn_s[n, i]) * US, end * US)
        for (n, i), end in machine.attn_end.items()
    ]
    lanes = {State.TO_FFN: 3, State.FFN: 4, State.TO_ATTENTION: 5}
    for batch, state, since, now in machine.stays():
        if state in lanes:
            found.append((lanes[state], batch, since * US, now * US))
    moved = [(lane, b, s - begin, e - begin) for lane, b, s, e in found]
    return sorted(
        (lane, b, max(s, 0.0), min(e, length))
        for lane, b, s, e in moved
        if s < length - 1e-6 and e > 1e-6
    )


def busy(rows: list[Bar], lanes: range, until: float) -> float:
    """Share of the time up to then in which these machines work, on average."""
    spent = sum(
        min(e, until) - s for lane, _, s, e in rows if lane in lanes and s < until
    )
    return spent / (len(lanes) * until)


def waits(n_batches: int) -> tuple[float, float]:
    """Shares of the window in which Attention machines and the FFN machine wait."""
    rows, (_, length) = bars(n_batches), window(n_batches)
    attn, ffn = busy(rows, range(ATTENTION), length), busy(rows, range(4, 5), length)
    return 1 - attn, 1 - ffn


def going_round() -> StepFigure:
    """Batches going round between Attention and FFN machines, two or three of them."""
    first, second = FLIGHTS
    logs = {name: _log(m) for name, m in FLIGHTS.items()}
    last, later = (len(log.frames) - 1 for log in logs.values())
    return StepFigure(
        name="afd-going-round",
        title="A machine without a batch waits; a third batch fills half of the gaps",
        scene=_scene(),
        logs=logs,
        stills=((first, last // 2), (first, last), (second, later)),
        legend={
            "A": "batch 1",
            "B": "batch 2",
            "D": "batch 3",
            "cache": "caches, on Attention machines only",
            "weights": "weights of the FFN",
            "idle": "waits",
        },
        counters=(
            Counter("Attention has waited", "%"),
            Counter("FFN has waited", "%"),
        ),
    )


def _scene() -> Scene:
    boxes = [
        _cell(A_BOX[0], A_BOX[1], TOP + i + 0.06, 0.88, "empty", faint=0.6)
        for i in range(ATTENTION)
    ]
    boxes += [
        _cell(A_BOX[0] + 12, A_BOX[0] + 190, TOP + i + 0.2, 0.6, "cache", "cache")
        for i in range(ATTENTION)
    ]
    boxes.append(_cell(*F_BOX, TOP + 0.06, 2.88, "empty", faint=0.6))
    boxes.append(_cell(F_BOX[0] + 20, F_BOX[1] - 20, 0.3, 0.8, "weights", "weights"))
    lanes = [
        _cell(0.0, WINDOW, FIRST + i + 0.08, 0.84, "empty", faint=0.2)
        for i in range(len(LANES))
    ]
    names = [
        {"x": LEFT / 2, "y": TOP + i + 0.5, "text": f"A{i + 1}"}
        for i in range(ATTENTION)
    ]
    names += [
        {"x": LEFT / 2, "y": FIRST + i + 0.5, "text": name}
        for i, name in enumerate(LANES)
    ]
    heads = (
        (sum(A_BOX) / 2, "Attention"),
        (sum(WIRE) / 2, "wire"),
        (sum(F_BOX) / 2, "FFN"),
    )
    names += [{"x": x, "y": -0.45, "text": text} for x, text in heads]
    foot = FIRST + len(LANES) + 0.45
    names += [{"x": float(at), "y": foot, "text": f"{at} µs"} for at in (0, 500, 1000)]
    links = [
        {"x": A_BOX[1] + 12, "y": TOP + i + 0.5, "x2": F_BOX[0] - 12, "y2": 1.5}
        | {"ink": "other", "wide": 1.5}
        for i in range(ATTENTION)
    ]
    return Scene(
        x=SceneAxis((LEFT, WINDOW + 10), shown=False),
        y=SceneAxis((foot + 0.5, -0.9), shown=False),
        marks=(
            Links(table="links", width="wide", arrow=False),
            Cells(table="boxes", x2="x2", y2="y2", text="text", opacity="faint"),
            Cells(table="places", x2="x2", y2="y2", text="text", opacity="faint"),
            Cells(
                table="bars", x2="x2", y2="y2", text="text", opacity="faint", grows=True
            ),
            Labels(table="names"),
        ),
        height=335,
        fixed={"boxes": boxes + lanes, "names": names, "links": links},
    )


def _cell(
    x: float,
    x2: float,
    y: float,
    high: float,
    ink: str,
    text: str = "",
    *,
    faint: float = 1.0,
) -> Row:
    place = {"x": x, "x2": x2, "y": round(y, 2), "y2": round(y + high, 2)}
    return place | {"ink": ink, "text": text, "faint": faint}


def _log(n_batches: int) -> StepLog:
    rows, (_, length) = bars(n_batches), window(n_batches)
    times = _moments(rows, length)
    drawn = [
        _cell(0.0, length, FIRST + lane + 0.08, 0.84, "idle") for lane in (0, 1, 2, 4)
    ]
    drawn += [
        _cell(
            s, e, FIRST + lane + 0.08, 0.84, INKS[b], f"{b + 1}" if e - s > 30 else ""
        )
        for lane, b, s, e in rows
    ]
    frames = tuple(
        Frame(_said(rows, at), (_waited(rows, at), _waited(rows, at, ffn=True)), at=at)
        for at in times
    )
    places = [
        row | {"since": i, "until": i + 1}
        for i, at in enumerate(times)
        for row in _places(rows, at)
    ]
    return StepLog(frames, {"bars": drawn, "places": places})


def _moments(rows: list[Bar], length: float) -> list[float]:
    """A moment between two events, wherever something lasts for long enough."""
    ends = sorted({0.0, length, *(at for _, _, s, e in rows for at in (s, e))})
    found = [(a + b) / 2 for a, b in pairwise(ends) if b - a > 12]
    return [*found[:-1], length - 0.01]


def _waited(rows: list[Bar], at: float, *, ffn: bool = False) -> float:
    lanes = range(4, 5) if ffn else range(ATTENTION)
    return round(100 * (1 - busy(rows, lanes, at)))


def _there(rows: list[Bar], at: float) -> dict[int, list[int]]:
    """Batches by lane at a moment."""
    found: dict[int, list[int]] = {lane: [] for lane in range(len(LANES))}
    for lane, batch, start, end in rows:
        if start <= at < end:
            found[lane].append(batch)
    return found


def _places(rows: list[Bar], at: float) -> list[Row]:
    """Where each batch is, drawn in the machines."""
    found, there = [], _there(rows, at)
    for i in range(ATTENTION):
        for batch in there[i]:
            text = f"batch {batch + 1}"
            found.append(_cell(225, 465, TOP + i + 0.2, 0.6, INKS[batch], text))
    for batch in there[4]:
        text = f"batch {batch + 1}"
        found.append(_cell(1000, 1420, TOP + 1.5, 1.0, INKS[batch], text))
    sent = [(b, "→") for b in there[3]] + [(b, "←") for b in there[5]]
    for k, (batch, arrow) in enumerate(sent):  # its rows are on all three lines
        x, text = WIRE[0] - 60 + 120 * k, f"{arrow} {batch + 1}"
        found.append(_cell(x, x + 112, TOP + 0.2, 2.6, INKS[batch], text))
    return found


def _said(rows: list[Bar], at: float) -> str:
    """One or two sentences about a moment, from what is where."""
    there = _there(rows, at)
    parts = []
    for batch in sorted({b for each in there.values() for b in each}):
        lanes = [lane for lane, each in there.items() if batch in each]
        parts.append(f"batch {batch + 1} is {_where(lanes)}")
    idle = [LANES[i] for i in (0, 1, 2, 4) if not there[i]]
    said = "; ".join(parts) or "every batch waits for its turn"
    wait = f" Waiting: {', '.join(idle)}." if idle else " Every machine works."
    return f"At {at:.0f} µs {said}.{wait}"


def _where(lanes: list[int]) -> str:
    on = [LANES[lane] for lane in lanes if lane < ATTENTION]
    if on:
        return f"on {', '.join(on)}"
    return {3: "on its way to the FFN", 4: "in the FFN", 5: "on its way back"}[lanes[0]]
