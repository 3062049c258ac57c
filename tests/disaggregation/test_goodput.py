"""Goodput is a rate that lasts: below every ceiling, and the same in a longer run."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.disaggregation import capacity_sim, goodput
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.goodput import (
    COUNTED_S,
    ENOUGH,
    GPUS,
    HANDS,
    KINDS,
    LIMITS_S,
    LOADS,
    POOLS,
    SMALLS,
    WARM_S,
    WAYS,
    Demand,
    best,
    points,
    rate_kept,
    simulated,
    variants,
)
from llmserve_lab.disaggregation.record import recorded
from llmserve_lab.disaggregation.served import known, load, value
from llmserve_lab.engine import Disaggregated, IterationLoad
from llmserve_lab.running_example import ANSWER, cost

ALL = [
    (each, way, name, hand)
    for each in LOADS
    for way in WAYS
    for hand in (HANDS if way == POOLS else HANDS[:1])
    for name in variants(way, hand)
]


def _read(prompt: int, many: int) -> IterationLoad:
    """An iteration that reads one or two such prompts."""
    load = IterationLoad.of(chunk=prompt)
    return load.plus(load) if many > 1 else load


def read_s(demand: Demand) -> float:
    """Mean time that a prompt of these takes a prefill GPU, iterations being full."""
    prompts = [each.prompt_len for each in goodput.asked(demand, demand.rates[-1])]
    one, two = (
        np.mean([cost().seconds(_read(n, many)) for n in prompts]) for many in (1, 2)
    )
    fixed_s = 2 * one - two  # what an iteration takes, however many prompts it reads
    return float(one - fixed_s * (1 - np.mean(prompts) / goodput.DEFAULT))


def in_pieces(demand: Demand, limit_s: float) -> float:
    """What small steps carry at most: each hides half of the weights, none launches."""
    has = known(load(demand.prompt, demand.answer, limit_s))
    half_s = cost().overlap * cost().weights_s
    pieces = demand.prompt / goodput.BUDGETS[-1] + 1
    ride_s = value(f.PREFILL_COMPUTE_S, has) - pieces * half_s
    each_s = value(f.STEP_OWN_S, has) + (1 - cost().overlap) * cost().row_s
    each_s += ride_s / (demand.answer - 1)
    fixed_s = cost().overhead_s + cost().weights_s
    batch = min((limit_s - fixed_s) / each_s, value(f.ROOM_BATCH, has))
    return GPUS * batch / ((demand.answer - 1) * (fixed_s + batch * each_s))


def test_the_counted_time_is_that_of_many_answers() -> None:
    assert 10 * max(LIMITS_S) * ANSWER <= COUNTED_S
    assert 2.9 * max(LIMITS_S) * ANSWER <= WARM_S


@pytest.mark.parametrize("demand", LOADS, ids=lambda each: each.name)
def test_no_goodput_exceeds_the_ceiling_of_its_formula(demand: Demand) -> None:
    """Prompts that the prefill GPUs can read, answers that the promise leaves."""
    each_s = read_s(demand)
    for one, way, name, hand in ALL:
        if one is not demand:
            continue
        rows, pool = points(one, name, hand), variants(way, hand)[name]
        for limit in LIMITS_S:
            has = known(load(one.prompt, one.answer, limit))
            if isinstance(pool, Disaggregated):
                ceilings = [
                    pool.prefill.replicas / each_s,
                    pool.decode.replicas / value(f.DECODE_GPU_S, has),
                ]
            elif way in SMALLS:
                ceilings = [in_pieces(one, limit)]
            else:
                # Prompts that ride in one step share its launch.
                ceilings = [GPUS / (value(f.SHARED_GPU_S, has) - cost().prompt_s)]
            for kind in KINDS:
                shares = [row[kind, limit] for row in rows.values()]
                assert rate_kept(tuple(rows), shares) <= min(ceilings), (name, limit)


@pytest.mark.long
@pytest.mark.parametrize("name", ["2P:2D", "8,192"])
def test_a_run_twice_as_long_has_the_same_goodput(name: str) -> None:
    """Within three percent: still kept a little below, no longer a little above.

    The load with fewer requests; tests/deep has the other one as well.
    """
    check_lasting(LOADS[1], name, HANDS[0], 0.02)


def check_lasting(demand: Demand, name: str, hand: str, limit: float) -> None:
    """The goodput of a variant, counted for twice the time."""
    rows, key = points(demand, name, hand), (KINDS[0], limit)
    per_s = rate_kept(tuple(rows), [row[key] for row in rows.values()])
    longer = {"counted_s": 2 * COUNTED_S}
    below, above = (
        simulated(demand, name, hand, factor * per_s, **longer)[key]
        for factor in (0.97, 1.03)
    )
    assert below >= ENOUGH >= above


@pytest.mark.parametrize(("name", "rate"), [("8,192", 6.0), ("2P:2D", 9.0)])
def test_the_record_is_what_the_simulator_gives_now(name: str, rate: float) -> None:
    stored = points(LOADS[1], name, HANDS[0])[rate]
    assert simulated(LOADS[1], name, HANDS[0], rate) == pytest.approx(stored, abs=1e-4)


def test_the_recorded_backlog_is_near_the_formulas() -> None:
    assert set(recorded()["backlog"]) == {"10", "20", "30", "50"}
    assert capacity_sim.most_apart() < 0.07


@pytest.mark.parametrize("demand", LOADS, ids=lambda each: each.name)
def test_a_looser_promise_never_serves_fewer(demand: Demand) -> None:
    for way in WAYS:
        for hand in HANDS:
            rates = [
                best(demand, way, kind=KINDS[0], limit_s=limit, hand=hand).per_s
                for limit in LIMITS_S
            ]
            assert rates == sorted(rates)
