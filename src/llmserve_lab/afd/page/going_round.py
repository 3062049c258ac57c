"""Batches between Attention and FFN machines, stepped: a picture of an event log.

Three Attention machines and one FFN machine, small enough to be drawn. The event
simulator runs; every bar, every place of a batch and every sentence is from its log.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from llmserve_lab.afd.page.lanes import NAMES, Row, cell, high, place, scene
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

ATTENTION, SLOTS = 3, 4  # machines, and requests of a batch on each of them
FLIGHTS = {2: "two", 3: "three"}
COUNTS = {4: "four", 5: "five"}
FIRST, SHOWN = 2, 2  # rounds before the picture, when all is steady, and in it
US = 1e6
INKS = "ACD"  # of the batches, apart from the inks of waiting
LANES = 6  # three Attention machines, the wire, the FFN machine, the wire back
FFN = range(4, 5)
LEAST = 55.0  # microseconds of a bar that has room for its batch's number
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
    """The event simulator's machine and its run, with nothing under way at first."""
    law = Independent(Uniform(20, 60), Geometric(25, least=0))
    load = Load(law=law, n_requests=1, start="stationary")
    made, rounds = toy(n_batches), FIRST + SHOWN + 4
    parts = [
        fill(load, n_slots=SLOTS, n_steps=rounds + 1, batch=b, instance=i, seed=5)
        for b in range(n_batches)
        for i in range(ATTENTION)
    ]
    machine = serving(made, load, Requests.joined(parts))
    return machine, machine.run(rounds * n_batches)


@cache
def window(n_batches: int) -> tuple[float, float]:
    """Begin and length of whole rounds: from a start of batch 1 on Attention machines.

    The rounds before, in which machines wait for their first batch, are left out.
    """
    machine, _ = played(n_batches)
    starts: dict[int, float] = {}
    for (n, i), end in machine.attn_end.items():
        since = (end - machine.attn_s[n, i]) * US
        starts[n] = min(since, starts.get(n, since))
    begin, end = (starts[n * n_batches] for n in (FIRST, FIRST + SHOWN))
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
    attn, ffn = busy(rows, range(ATTENTION), length), busy(rows, FFN, length)
    return 1 - attn, 1 - ffn


def seen(n_batches: int) -> float:
    """Share of the time that is drawn in which Attention machines wait."""
    return 1 - busy(bars(n_batches), range(ATTENTION), shown())


def more_tokens() -> float:
    """How many more batches three in flight send round in a time than two."""
    two, three = (m / window(m)[1] for m in FLIGHTS)
    return three / two - 1


def computed(n_batches: int) -> int:
    """Batches that the FFN starts in the time that is drawn."""
    found = [s for lane, _, s, _ in bars(n_batches) if lane in FFN]
    return sum(start < shown() - 1 for start in found)


def longer_round() -> float:
    """How much longer a round takes with three in flight than with two."""
    return window(3)[1] / window(2)[1] - 1


def going_round() -> StepFigure:
    """Batches going round, with two of them in flight and, below, with three."""
    log = _log()
    last = len(log.frames) - 1
    return StepFigure(
        name="afd-going-round",
        title="A third batch in flight fills gaps: the FFN computes "
        f"{COUNTS[computed(3)]} batches in the time of {COUNTS[computed(2)]}",
        scene=scene(FLIGHTS, shown()),
        logs={"both": log},
        stills=tuple(("both", at) for at in (last // 3, 2 * last // 3, last)),
        legend={
            "A": "batch 1",
            "C": "batch 2",
            "D": "batch 3",
            "new": "waits: another Attention machine is late",
            "idle": "waits: no batch is there",
        },
        counters=tuple(
            Counter(f"{word} in flight: so far waited") for word in FLIGHTS.values()
        ),
        start=last,
    )


def shown() -> float:
    """Microseconds that are drawn of both: the rounds of two batches."""
    return window(2)[1]


def _log() -> StepLog:
    drawn = [row for m in FLIGHTS for row in _drawn(m)]
    moments = {at for m in FLIGHTS for at in _moments(bars(m), window(m)[1])}
    times = [at for at in sorted(moments) if at < shown() - 1][::2]
    frames = tuple(
        Frame(" ".join(_said(m, at) for m in FLIGHTS), _waited(at), at=at)
        for at in [*times, shown() - 0.01]
    )
    return StepLog(frames, {"bars": drawn})


def _drawn(m: int) -> list[Row]:
    """Work, ways and, between a machine's work, its waiting: for a late one, or not."""
    found = [
        cell(
            s,
            min(e, shown()),
            place(m, lane),
            high(lane),
            INKS[b],
            f"{b + 1}" if lane in NAMES and min(e, shown()) - s > LEAST else "",
        )
        for lane, b, s, e in bars(m)
        if s < shown() - 1
    ]
    waited = _merged(gaps(bars(m), window(m)[1]))
    return found + [
        cell(s, min(e, shown()), place(m, lane), 0.84, ink)
        for lane, ink, s, e in waited
        if s < shown() - 1
    ]


def _merged(
    found: list[tuple[int, str, float, float]],
) -> list[tuple[int, str, float, float]]:
    """Waits with one ink whatever else goes on, but for a machine that is late."""
    merged: list[tuple[int, str, float, float]] = []
    for lane, why, begin, end in found:
        ink = "new" if why == "new" else "idle"
        if merged and merged[-1][:2] == (lane, ink) and merged[-1][3] == begin:
            begin = merged.pop()[2]
        merged.append((lane, ink, begin, end))
    return merged


def gaps(rows: list[Bar], length: float) -> list[tuple[int, str, float, float]]:
    """Every stretch in which a machine waits, with the ink of what else goes on."""
    ends = sorted({0.0, length, *(at for row in rows for at in row[2:] if at < length)})
    found: list[tuple[int, str, float, float]] = []
    for lane in NAMES:
        for begin, end in pairwise(ends):
            there = _there(rows, (begin + end) / 2)
            if end - begin < 1e-9 or there[lane]:
                continue
            ink = _why(lane, there)
            if found and found[-1][:2] == (lane, ink) and found[-1][3] == begin:
                begin = found.pop()[2]
            found.append((lane, ink, begin, end))
    return found


def shares(n_batches: int) -> dict[str, float]:
    """Shares of the time in which Attention machines wait, by ink of what goes on."""
    found: dict[str, float] = {}
    length = window(n_batches)[1]
    for lane, ink, begin, end in gaps(bars(n_batches), length):
        if lane < ATTENTION:
            spent = (end - begin) / (ATTENTION * length)
            found[ink] = found.get(ink, 0.0) + spent
    return found


def _why(lane: int, there: dict[int, list[int]]) -> str:
    """Ink of a wait: a late machine, the wire, or the other kind of machine."""
    working = [bool(there[i]) for i in range(ATTENTION)]
    late = any(working) and not all(working)
    if lane < ATTENTION and late:
        return "new"
    if there[3] or (there[5] and not any(working)):
        return "communication"
    return "idle"


def _moments(rows: list[Bar], length: float) -> list[float]:
    """A moment between two events, wherever something lasts for long enough."""
    ends = sorted({0.0, length, *(at for _, _, s, e in rows for at in (s, e))})
    return [(a + b) / 2 for a, b in pairwise(ends) if b - a > 12]


def _waited(at: float) -> tuple[str, ...]:
    found = []
    for m in FLIGHTS:
        rows, until = bars(m), min(at, window(m)[1])
        kinds = range(ATTENTION), FFN
        shares = [max(0.0, 1 - busy(rows, lanes, until)) for lanes in kinds]
        words = zip(("Attention", "FFN"), shares, strict=True)
        found.append(", ".join(f"{name} {share:.0%}" for name, share in words))
    return tuple(found)


def _there(rows: list[Bar], at: float) -> dict[int, list[int]]:
    """Batches by lane at a moment."""
    found: dict[int, list[int]] = {lane: [] for lane in range(LANES)}
    for lane, batch, start, end in rows:
        if start <= at < end:
            found[lane].append(batch)
    return found


def _said(m: int, at: float) -> str:
    """A sentence about a moment, from what is where."""
    there = _there(bars(m), min(at, window(m)[1] - 1))
    parts = []
    for batch in range(m):
        lanes = [lane for lane, each in there.items() if batch in each]
        where = f"is {_where(lanes)}" if lanes else "waits"
        parts.append(f"batch {batch + 1} {where}")
    said = ", ".join(parts)
    return f"{FLIGHTS[m].capitalize()} in flight, at {at:.0f} µs: {said}."


def _where(lanes: list[int]) -> str:
    on = [NAMES[lane] for lane in lanes if lane < ATTENTION]
    if on:
        return f"on {', '.join(on)}"
    return {3: "on its way to the FFN", 4: "in the FFN", 5: "on its way back"}[lanes[0]]
