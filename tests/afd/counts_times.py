"""Times and ratios: work done piece by piece, crossings found by trying."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.simulation.bundle import Load, bundle
from llmserve_lab.afd.simulation.event_simulator import Machine, State
from llmserve_lab.afd.simulation.length_distributions import Independent, Uniform
from llmserve_lab.afd.simulation.pipeline import pipeline
from llmserve_lab.formula.formula import Formula
from tests.counted import Case, Kind, counts


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


def in_a_row(*times: int) -> int:
    """Machines in a row, work without end: what lies between two that come out."""
    free = [0] * len(times)
    for _ in range(50):
        before, at = free[-1], 0
        for place, time in enumerate(times):
            at = free[place] = max(at, free[place]) + time
    return free[-1] - before


def round_and_round(attn: int, wire: int, ffn: int, m: int) -> float:
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


@counts(f.PERIOD_S, by="executed")
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


Late = Callable[[float, float, float, float], bool]  # Attention, wire, FFN, batches


def first(formula: Formula, late: Late) -> None:
    """Register a count that adds requests to the FFN until something is late.

    The closed form is a ratio; times the batch and rounded up it is that request.
    """

    def count(rng: random.Random) -> Case:
        v, requests = known(rng), 0
        v["a_ffn"] /= 0.73  # no ties
        attn, wire = attend(v), stages(v)[1]
        v["b_ffn"] = ffn = 0.01  # early with no request
        while not late(attn, wire, ffn, v["n_batches"]):
            ffn += v["a_ffn"]
            requests += 1
        batch = v["batch"]
        return Case(formula.given(v), requests, lambda r: max(0, math.ceil(r * batch)))

    counts(formula, by="unrolled")(count)


first(f.RATIO_ATTN, lambda attn, wire, ffn, m: ffn >= attn)
first(f.RATIO_COMM, lambda attn, wire, ffn, m: ffn >= wire)
first(f.RATIO_LOOP_START, lambda attn, wire, ffn, m: attn + wire + ffn >= m * attn)
first(f.RATIO_LOOP_END, lambda attn, wire, ffn, m: m * ffn >= attn + wire + ffn)


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
