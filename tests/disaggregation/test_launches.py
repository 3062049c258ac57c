"""What a small step launches decides by how much two pools lead, and where it turns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmserve_lab.continuous_batching.machine import GRAPH_ROWS, priced
from llmserve_lab.disaggregation import goodput
from llmserve_lab.disaggregation import worked_example as worked
from llmserve_lab.disaggregation.formulas import BEST_POOLS_RATE
from llmserve_lab.disaggregation.goodput import (
    BUDGETS,
    CHUNKS,
    ENOUGH,
    EXTRAS,
    GPUS,
    HANDS,
    KINDS,
    LAUNCHED,
    LOADS,
    POOLS,
    SMALLS,
    WHOLE,
    served_best,
)
from llmserve_lab.disaggregation.launches import SURE, leads, one_engine, turns_at_s
from llmserve_lab.disaggregation.topologies import deployments
from llmserve_lab.engine import Chunked, IterationLoad, Pool, simulate
from llmserve_lab.running_example import ANSWER, PROMPT, cost


def kept(per_s: float, limit_s: float, extra_s: float) -> float:
    """Share within the limits if a small step with a prompt pays so much extra."""
    machine = replace(cost(), prompt_s=extra_s)
    pool = Pool(machine, Chunked(BUDGETS[-1]), replicas=GPUS)
    found = goodput.kept(simulate(goodput.asked(LOADS[0], per_s), pool), hop=False)
    return found[KINDS[0], limit_s]


def least(limit_s: float) -> float:
    """Goodput of two pools with the worse hand-over."""
    return min(served_best(POOLS, limit_s, hand).per_s for hand in HANDS)


@pytest.mark.long
def test_the_answer_turns_where_the_page_says() -> None:
    """One engine at ten percent fewer requests than two pools: kept below, not above.

    Simulated here at launches that no stored run has.
    """
    limit_s, turn_s = 0.02, turns_at_s(0.02, SURE)
    tenth_below = least(limit_s) / (1 + SURE)
    assert 0.0005 < turn_s < 0.0013
    assert kept(tenth_below, limit_s, turn_s - 0.0005) >= ENOUGH
    assert kept(tenth_below, limit_s, turn_s + 0.0005) < ENOUGH
    large = served_best(WHOLE, limit_s, HANDS[0]).per_s
    assert large < tenth_below  # so that it is the small budget that decides


def test_two_pools_lead_more_the_more_a_small_step_launches() -> None:
    for load in LOADS:
        for limit_s in goodput.LIMITS_S:
            found = [leads(limit_s, small, load) for small in SMALLS]
            assert found == sorted(found)
            assert all(low <= high for low, high in found)


def test_with_replay_only_the_strictest_promise_is_decided() -> None:
    assert leads(0.01)[0] > SURE
    for limit_s in (0.015, 0.02, 0.03, 0.05):
        assert leads(limit_s)[0] < SURE
    assert leads(0.01, load=LOADS[1])[0] > 0.295
    assert all(leads(each, load=LOADS[1])[0] < 0 for each in (0.015, 0.02, 0.03, 0.05))


def test_one_by_one_they_lead_by_thirty_percent_up_to_twice_a_step() -> None:
    for limit_s in (0.01, 0.015, 0.02):
        assert leads(limit_s, LAUNCHED)[0] > 0.295
        large = served_best(WHOLE, limit_s, HANDS[0]).per_s
        assert one_engine(limit_s, LAUNCHED) == round(large, 1)


def test_no_lead_that_is_never_reached_has_a_turn() -> None:
    with pytest.raises(ValueError, match="lead must be reached between none and all"):
        turns_at_s(0.05, SURE)


def test_small_steps_are_priced_as_in_the_chapter_on_chunks() -> None:
    """Up to as many rows as are recorded there nothing extra is paid, here as well."""
    assert BUDGETS[-1] == GRAPH_ROWS and EXTRAS[0] == 0
    ways = deployments(cost=cost(), n_prefill=2, n_decode=2, link="infiniband-ndr")
    for pool in (goodput.variants(CHUNKS, HANDS[0])["512, 0"], *ways.values()):
        if isinstance(pool, Pool) and isinstance(pool.policy, Chunked):
            assert pool.cost == priced(GRAPH_ROWS)
    larger = deployments(
        cost=cost(), n_prefill=2, n_decode=2, link="infiniband-ndr", budget=513
    )
    assert {way.cost for way in larger.values() if isinstance(way, Pool)} == {cost()}


@pytest.mark.parametrize("launch_s", [0.0, 0.003, cost().prompt_s])
def test_prompts_in_halves_carry_what_the_engine_s_steps_add_up_to(
    launch_s: float,
) -> None:
    """A mean step by hand: 199 decode steps an answer, and two halves of a prompt."""
    machine, promise_s = replace(cost(), prompt_s=launch_s), 0.015
    halves = [IterationLoad.of(chunk=500), IterationLoad.of(chunk=500, context=500)]
    context = PROMPT + ANSWER // 2 - 1

    def mean_s(batch: int) -> float:
        step = IterationLoad(batch, batch * (context + 1), batch * context, batch, 0)
        alone_s = machine.seconds(step)
        more_s = sum(machine.seconds(step.plus(each)) - alone_s for each in halves)
        return alone_s + batch / (ANSWER - 1) * more_s

    batch = max(b for b in range(1, 200) if mean_s(b) <= promise_s)
    by_hand = [GPUS * b / ((ANSWER - 1) * promise_s) for b in (batch, batch + 1)]
    found = worked.halves_rate(promise_s, launch_s)
    assert 0.985 * by_hand[0] < found < 1.015 * by_hand[1]


def test_halves_without_launches_carry_what_the_best_split_does() -> None:
    two = worked.usual(BEST_POOLS_RATE, 0.015)
    assert worked.halves_rate(0.015) == pytest.approx(two, rel=0.01)
    assert worked.halves_rate(0.015, cost().prompt_s) < 0.75 * two
