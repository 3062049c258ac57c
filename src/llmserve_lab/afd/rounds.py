"""Who had which batch, and when: what the state machine wrote while it ran."""

from __future__ import annotations

from functools import cache

from llmserve_lab.afd.bundle import Load, ascend, bundle
from llmserve_lab.afd.laws import Geometric, Independent, Uniform
from llmserve_lab.afd.machine import State, serving
from llmserve_lab.afd.slots import Requests, fill

BUNDLES = (3, 9, 24)
FLIGHTS = (2, 3)
BATCH, SKIPPED, SHOWN = 16, 2, 2  # rounds left out at the start, and rounds drawn
ROUNDS = SKIPPED + SHOWN + 2
SCALE = 256 / BATCH  # a slot stands for sixteen, so that the times are the paper's
LANE = {State.ATTENTION: 0, State.TO_FFN: 1, State.FFN: 2, State.TO_ATTENTION: 3}
LANES = ("Attention", "wire →", "FFN", "← wire")
Bar = dict[str, int]


@cache
def drawn() -> list[Bar]:
    """A bar for each stay: case c, lane l, batch b, start s and end e in µs.

    The case counts bundles, and in each of them numbers of batches in flight.
    """
    cases = [(n_attn, m) for n_attn in BUNDLES for m in FLIGHTS]
    return [{"c": i} | bar for i, case in enumerate(cases) for bar in _bars(*case)]


def _bars(n_attn: int, n_batches: int) -> list[Bar]:
    """Bars of a few rounds, from the moment in which the first of them begins."""
    known = {
        name: value * (SCALE if name.startswith("a_") else 1)
        for name, value in ascend().items()
    }
    made = bundle(known, batch=BATCH, n_attn=n_attn, n_batches=n_batches)
    law = Independent(Uniform(0, 200), Geometric(500))
    load = Load(law=law, n_requests=1, start="stationary")
    parts = [
        fill(load, n_slots=BATCH, n_steps=ROUNDS + 1, batch=b, instance=i, seed=2)
        for b in range(n_batches)
        for i in range(n_attn)
    ]
    machine = serving(made, load, Requests.joined(parts))
    run = machine.run(ROUNDS * n_batches)
    begin = float(run.back[SKIPPED * n_batches])
    end = float(run.back[(SKIPPED + SHOWN) * n_batches])
    return [
        {
            "l": LANE[state],
            "b": batch,
            "s": round((max(since, begin) - begin) * 1e6),
            "e": round((min(now, end) - begin) * 1e6),
        }
        for batch, state, since, now in machine.stays()
        if state in LANE and since < end and now > begin
    ]
