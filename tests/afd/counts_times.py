"""Times and ratios: work done piece by piece, crossings found by trying."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.simulation.bundle import Load, bundle
from llmserve_lab.afd.simulation.event_simulator import Machine, State
from llmserve_lab.afd.simulation.length_distributions import Independent, Uniform
from llmserve_lab.afd.simulation.pipeline import pipeline
from llmserve_lab.formula.formula import Formula
from tests.counted import Case, Kind, counts

Time = TypeVar("Time", int, float)


def known(rng: random.Random) -> dict[str, float]:
    """A bundle whose times are whole numbers of seconds; any stage may be longest."""
    leader = rng.choice(("b_attn", "b_ffn", "b_comm", "none"))
    scales = {"a_attn": 3, "b_attn": 90, "a_ffn": 6, "b_ffn": 300, "a_comm": 9}
    found = {name: float(rng.randint(1, most)) for name, most in scales.items()}
    size = {"batch": rng.randint(2, 9), "slot_tokens": rng.randint(1, 12)}
    more = {"b_comm": rng.randint(1, 200), "n_batches": rng.choice((2, 2, 3, 4))}
    values = found | size | more | {"af_ratio": float(rng.randint(1, 9))}
    return values | ({leader: rng.randint(600, 1800)} if leader in values else {})


def attend(v: dict[str, float]) -> int:
    """Read the tokens of every slot, one after the other."""
    spent = int(v["b_attn"])
    for _slot in range(int(v["batch"])):
        for _token in range(int(v["slot_tokens"])):
            spent += int(v["a_attn"])
    return spent


def passed(v: dict[str, float], part: str, requests: int) -> int:
    """Serve so many requests, one after the other."""
    return int(v[f"b_{part}"]) + sum(int(v[f"a_{part}"]) for _ in range(requests))


def first_stay(v: dict[str, float], *states: State) -> float:
    """Seconds that a first batch spends in states of the discrete-event simulator."""
    size, m = int(v["batch"]), int(v["n_batches"])
    made = bundle(v, batch=size, n_attn=int(v["af_ratio"]), n_batches=m)
    requests = [(int(v["slot_tokens"]), 9, 0)] * (size * made.n_attn * m)
    load = Load(law=Independent(Uniform(1, 1), Uniform(9, 9)), n_requests=1)
    machine = Machine(made, load, deque(requests))
    machine.run(2 * m)
    stays = {
        state: end - start
        for batch, state, start, end in reversed([*machine.stays()])
        if batch == 0
    }
    return sum(stays[state] for state in states)


def stages(v: dict[str, float]) -> tuple[int, int, int]:
    """Attention, wire and FFN of one step."""
    served = int(v["af_ratio"] * v["batch"])
    wire, ffn = passed(v, "comm", int(v["batch"])), passed(v, "ffn", served)
    return attend(v), wire, ffn


def in_a_row(*times: Time) -> Time:
    """Machines in a row, work without end: what lies between two that come out."""
    free = [0 * time for time in times]
    for _ in range(50):
        before, at = free[-1], 0 * free[-1]
        for place, time in enumerate(times):
            at = free[place] = max(at, free[place]) + time
    return free[-1] - before


def round_and_round(attn: float, wire: float, ffn: float, m: int) -> float:
    """m batches on two machines with a wire between them: seconds per step, late."""
    log = pipeline(
        np.full((40 * m, 1), float(attn)), ffn, wire, n_batches=m, barrier="instance"
    )[1]
    return float(log[-1] - log[-1 - 20 * m]) / (20 * m)


def played(
    formula: Formula, play: Callable[[dict[str, float]], float], *, by: Kind
) -> None:
    """Register a count that plays one setting."""

    def count(rng: random.Random) -> Case:
        values = known(rng)
        return Case(formula.given(values), play(values))

    counts(formula, by=by)(count)


def per_instance(v: dict[str, float], step_s: float) -> float:
    """Tokens of a step over its time and over the machines that share it."""
    return v["af_ratio"] * v["batch"] / step_s / (v["af_ratio"] + 1)


played(f.ATTN_S, lambda v: first_stay(v, State.ATTENTION), by="executed")
played(f.FFN_S, lambda v: first_stay(v, State.FFN), by="executed")
played(
    f.COMM_S,
    lambda v: first_stay(v, State.TO_FFN, State.TO_ATTENTION),
    by="executed",
)
played(f.CYCLE_S, lambda v: in_a_row(*stages(v)), by="enumerated")
played(
    f.INSTANCE_TOKENS_PER_S,
    lambda v: per_instance(v, in_a_row(*stages(v))),
    by="enumerated",
)
played(
    f.PIPELINE_S,
    lambda v: round_and_round(*stages(v), int(v["n_batches"])),
    by="executed",
)
played(
    f.PIPELINE_TOKENS_PER_S,
    lambda v: per_instance(v, round_and_round(*stages(v), int(v["n_batches"]))),
    by="executed",
)


def through_ports(attn: int, wire: int, ffn: int, port: int, m: int) -> float:
    """The same with a port each way that takes one batch at a time: seconds a step."""
    back = deque([0.0] * m)
    free, out = [0.0] * 4, []
    for _ in range(60 * m):
        at = back.popleft()
        for place, (busy, lasts) in enumerate(
            ((attn, attn), (port, wire / 2), (ffn, ffn), (port, wire / 2))
        ):
            begun = max(at, free[place])
            free[place], at = begun + busy, begun + lasts
        back.append(at)
        out.append(at)
    return float(out[-1] - out[-1 - 20 * m]) / (20 * m)


@counts(f.PERIOD_S, by="enumerated")
def period_s(rng: random.Random) -> Case:
    """Batches go round and queue at the machines and at the ports."""
    v = known(rng)
    attn, wire, ffn = stages(v)
    port = rng.choice((rng.randint(0, wire // 2), max(attn, ffn) + rng.randint(0, 200)))
    wire = max(wire, 2 * port)
    m = int(v["n_batches"])
    given = v | {"b_comm": v["b_comm"] + wire - stages(v)[1], "port_s": float(port)}
    return Case(f.PERIOD_S.given(given), through_ports(attn, wire, ffn, port, m))


def waiting(v: dict[str, float], place: int) -> float:
    """Share of many steps in which a stage does not work."""
    spent = 100 * round_and_round(*stages(v), int(v["n_batches"]))
    return (spent - sum(stages(v)[place] for _ in range(100))) / spent


played(f.IDLE_ATTN, lambda v: waiting(v, 0), by="executed")
played(f.IDLE_FFN, lambda v: waiting(v, 2), by="executed")


WORKING = (State.ATTENTION, State.TO_FFN, State.FFN, State.TO_ATTENTION)


@counts(f.LOOP_S, by="executed")
def loop_s(rng: random.Random) -> Case:
    """One batch alone never waits: its lap, shared by as many as there are."""
    v = known(rng)
    lap_s = first_stay(v | {"n_batches": 1.0}, *WORKING)
    return Case(f.LOOP_S.given(v), lap_s / v["n_batches"])


Late = Callable[[float, float, float, int], bool]  # Attention, wire, FFN, batches


def first(formula: Formula, late: Late, *, by: Kind) -> None:
    """Register a count that looks for the request with which something is late.

    Requests are added to the FFN; what is late once stays late, so that the first one
    is found by halving. The closed form is a ratio; times the batch and rounded up it
    is that request.
    """

    def count(rng: random.Random) -> Case:
        v = known(rng)
        v["a_ffn"] /= 0.73  # no ties
        attn, wire, m = attend(v), stages(v)[1], int(v["n_batches"])
        v["b_ffn"] = 0.01  # early with no request

        def is_late(requests: int) -> bool:
            return late(attn, wire, v["b_ffn"] + requests * v["a_ffn"], m)

        found = bisect_left(range(100_000), True, key=is_late)
        batch = v["batch"]
        return Case(formula.given(v), found, lambda r: max(0, math.ceil(r * batch)))

    counts(formula, by=by)(count)


def exceeds(period: float, work: float) -> bool:
    """Whether somebody has to wait: a step takes longer than the work in it."""
    return period > work * (1 + 1e-9)


def waits_for_ffn(attn: float, wire: float, ffn: float, m: int) -> bool:
    """Whether Attention waits where a batch is never missing: two more than needed."""
    return exceeds(round_and_round(attn, 0.0, ffn, m + 2), attn)


def holds_the_wire_up(attn: float, wire: float, ffn: float, m: int) -> bool:
    """Whether machines in a row, the wire one of them, wait for the FFN."""
    return exceeds(in_a_row(0, wire, ffn), wire)


def waits_for_batches(attn: float, wire: float, ffn: float, m: int) -> bool:
    """Whether Attention waits where every batch has an FFN to itself: it is a delay."""
    return exceeds(round_and_round(attn, wire + ffn, 0.0, m), attn)


def never_waits(attn: float, wire: float, ffn: float, m: int) -> bool:
    """Whether the FFN always has a batch, each with an Attention stage to itself."""
    return not exceeds(round_and_round(0.0, wire + attn, ffn, m), ffn)


first(f.RATIO_ATTN, waits_for_ffn, by="executed")
first(f.RATIO_COMM, holds_the_wire_up, by="enumerated")
first(f.RATIO_LOOP_START, waits_for_batches, by="executed")
first(f.RATIO_LOOP_END, never_waits, by="executed")


@counts(f.HIDDEN_COMM_S, by="executed")
def hidden_comm_s(rng: random.Random) -> Case:
    """Lengthen the wire until somebody waits for it."""
    v = known(rng)
    attn, m = attend(v), int(v["n_batches"])
    low, high = 0, 4 * attn
    while high - low > 1:
        half = (low + high) // 2
        late = round_and_round(attn, half, attn, m) > attn
        low, high = (low, half) if late else (half, high)
    return Case(f.HIDDEN_COMM_S.given(v), low)
