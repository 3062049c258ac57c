"""Gantt chart of a run: which machine had which batch, and when, from its log."""

from __future__ import annotations

from functools import cache

from llmserve_lab import notation as q
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.simulation.event_simulator import Machine, State, serving
from llmserve_lab.afd.simulation.run import BundleRun
from llmserve_lab.afd.simulation.slots import Requests, fill
from llmserve_lab.page.live.axes import QuantityAxis

BUNDLES = (3, 9, 24)
FLIGHTS = (2, 3)
SKIPPED, SHOWN = 2, 2  # rounds left out at the start, and rounds drawn
ROUNDS = SKIPPED + SHOWN + 2
TIME = QuantityAxis(q.pipeline_s, "µs", words="time", ticks={"tickCount": 6})
LANE = {
    State.ATTENTION: "Attention",
    State.TO_FFN: "wire →",
    State.FFN: "FFN",
    State.TO_ATTENTION: "← wire",
}
LANES = tuple(LANE.values())
Bar = dict[str, int]
Table = tuple[tuple[float, ...], ...]


def drawn() -> list[Bar]:
    """A bar for each stay: case c, lane l, batch b, start s and end e in µs.

    The case counts bundles, and in each of them numbers of batches in flight.
    """
    cases = [(n_attn, m) for n_attn in BUNDLES for m in FLIGHTS]
    return [{"c": i} | bar for i, case in enumerate(cases) for bar in _bars(*case)]


def times() -> tuple[Table, Table]:
    """Seconds of a step and of Attention in it, means over what is drawn.

    For each bundle one for each number of batches in flight; Attention's is the mean
    over its instances.
    """
    each = [[_means(n_attn, m) for m in FLIGHTS] for n_attn in BUNDLES]
    step_s, attn_s = (
        tuple(tuple(pair[which] for pair in row) for row in each) for which in (0, 1)
    )
    return step_s, attn_s


def _means(n_attn: int, n_batches: int) -> tuple[float, float]:
    run = _played(n_attn, n_batches)[1]
    begin, end = _window(run)
    shown = run.attn_s[SKIPPED * n_batches :][1 : SHOWN * n_batches + 1]
    return (end - begin) / len(shown), float(shown.mean())


@cache
def _played(n_attn: int, n_batches: int) -> tuple[Machine, BundleRun]:
    """The paper's bundle in steady state, for a few rounds of its batches."""
    made = paper_setup.made(n_attn, n_batches=n_batches)
    load = paper_setup.served(n_requests=1, start="stationary")
    parts = [
        fill(load, n_slots=made.batch, n_steps=ROUNDS + 1, batch=b, instance=i, seed=2)
        for b in range(n_batches)
        for i in range(n_attn)
    ]
    machine = serving(made, load, Requests.joined(parts))
    return machine, machine.run(ROUNDS * n_batches)


def _window(run: BundleRun) -> tuple[float, float]:
    """From the moment in which the first round that is drawn begins to the last's."""
    m = run.bundle.n_batches
    return float(run.back[SKIPPED * m]), float(run.back[(SKIPPED + SHOWN) * m])


def _bars(n_attn: int, n_batches: int) -> list[Bar]:
    machine, run = _played(n_attn, n_batches)
    begin, end = _window(run)
    return [
        {
            "l": [*LANE].index(state),
            "b": batch,
            "s": round(TIME.value(max(since, begin) - begin)),
            "e": round(TIME.value(min(now, end) - begin)),
        }
        for batch, state, since, now in machine.stays()
        if state in LANE and since < end and now > begin
    ]
