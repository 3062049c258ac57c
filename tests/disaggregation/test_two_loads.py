"""Why long prompts lose in two pools of four GPUs: the division and the first token."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.disaggregated import ORCHESTRATION_S
from llmserve_lab.disaggregation import goodput, launches
from llmserve_lab.disaggregation.capacity_sim import two_pools
from llmserve_lab.disaggregation.goodput import (
    BUDGETS,
    ENOUGH,
    GPUS,
    HANDS,
    KINDS,
    LIMITS_S,
    LOADS,
    POOLS,
    served_best,
)
from llmserve_lab.disaggregation.page import questions
from llmserve_lab.disaggregation.two_loads import simulated_over_formula, split
from llmserve_lab.engine import Chunked, Disaggregated, IterationLoad, Pool, simulate
from llmserve_lab.running_example import cost

LONG, LIMIT_S = LOADS[1], 0.02


def pair(prefills: int, decodes: int, *, pulled: bool) -> Disaggregated:
    """Two pools with the worse hand-over or the better, as the page simulates them."""
    more_s = float(ORCHESTRATION_S) if pulled else 0.0
    return two_pools(
        n_prefill=prefills,
        n_decode=decodes,
        batch=goodput.MANY,
        budget=goodput.DEFAULT,
        orchestration_s=more_s,
        bounded=True,
        streamed=not pulled,
    )


def kept(way: Pool | Disaggregated, per_s: float, *, hop: bool = False) -> float:
    """Share within both limits at a rate of long prompts."""
    report = simulate(goodput.asked(LONG, per_s), way)
    return goodput.kept(report, hop=hop)[KINDS[0], LIMIT_S]


def test_one_step_at_a_time_gives_what_the_split_carries() -> None:
    """A prefill and the largest decode step in time, priced by the engine's model."""
    prefill_s = cost().seconds(IterationLoad.of(chunk=LONG.prompt))
    context = LONG.prompt + LONG.answer // 2 - 1

    def step_s(batch: int) -> float:
        rows, pairs = batch, batch * (context + 1)
        return cost().seconds(IterationLoad(rows, pairs, batch * context, batch, 0))

    batch = max(b for b in range(1, 400) if step_s(b) <= LIMIT_S)
    decode_s = (LONG.answer - 1) * LIMIT_S / batch
    for gpus in (GPUS, 2 * GPUS):
        whole = max(min(x / prefill_s, (gpus - x) / decode_s) for x in range(1, gpus))
        found = split(LONG, LIMIT_S, gpus)
        assert found.whole == pytest.approx(whole, rel=0.02)
        assert found.best == pytest.approx(gpus / (prefill_s + decode_s), rel=0.02)
        assert found.one == pytest.approx(gpus / GPUS * split(LONG, LIMIT_S).one)
    with pytest.raises(ValueError, match="gpus must be at least 2"):
        split(LONG, LIMIT_S, 1)


def test_more_gpus_divide_better_and_never_beyond_the_best_split() -> None:
    for demand in LOADS:
        for limit_s in LIMITS_S:
            found = [split(demand, limit_s, gpus) for gpus in (4, 8, 64)]
            lost = [each.whole / each.best for each in found]
            assert lost == sorted(lost) and 0.97 < lost[-1] <= 1 + 1e-9


def test_the_division_of_four_takes_the_lead_of_long_prompts() -> None:
    four, eight = split(LONG, LIMIT_S), split(LONG, LIMIT_S, 8)
    assert four.best / four.one > 1.25 and (four.prefills, eight.prefills) == (2, 5)
    assert 1 < four.whole / four.one < 1.02
    assert eight.whole / eight.one > 1.25


@pytest.mark.long
def test_the_limit_on_the_first_token_takes_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With two seconds for it two pools lose next to nothing; with half a one, much."""
    assert max(launches.leads(LIMIT_S, load=LONG)) < -0.05
    one = Pool(goodput.replayed(cost()), Chunked(BUDGETS[-1]), replicas=GPUS)
    assert kept(pair(2, 2, pulled=False), 19.8) < ENOUGH
    monkeypatch.setattr(goodput, "TTFT_S", 2.0)
    assert kept(one, 21.4) < ENOUGH
    for pulled in (False, True):
        assert kept(pair(2, 2, pulled=pulled), 20.2, hop=pulled) > ENOUGH


@pytest.mark.long
def test_on_eight_gpus_two_pools_no_longer_lose() -> None:
    """With the worse hand-over, at a rate that one engine on each does not keep."""
    per_s = 37.5
    one = Pool(goodput.replayed(cost()), Chunked(BUDGETS[-1]), replicas=2 * GPUS)
    assert kept(pair(5, 3, pulled=True), per_s, hop=True) > ENOUGH > kept(one, per_s)


def test_the_rate_of_busy_gpus_is_no_bound_on_goodput() -> None:
    low, high = simulated_over_formula()
    assert low < 0.6 and 1.1 < high < 1.15
    fleet = split(LOADS[0], 0.02).best
    assert min(served_best(POOLS, 0.02, hand).per_s for hand in HANDS) > fleet
    assert max(served_best(POOLS, 0.01, hand).per_s for hand in HANDS) < (
        0.8 * split(LOADS[0], 0.01).best
    )


def test_the_right_guess_is_what_the_figure_after_it_shows() -> None:
    strict, loose = (split(LOADS[0], limit_s) for limit_s in (0.01, 0.05))
    assert strict.whole > 1.1 * strict.one and loose.one > 1.1 * loose.whole
    answer = questions.predict_promise.answer()
    assert np.isclose(answer, 2.0)


def test_each_lead_follows_from_the_printed_goodputs() -> None:
    for demand in LOADS:
        for limit_s in LIMITS_S:
            one = round(launches.one_engine(limit_s, load=demand), 1)
            two = [
                round(served_best(POOLS, limit_s, h, demand).per_s, 1) for h in HANDS
            ]
            expected = sorted(each / one - 1 for each in two)
            assert launches.leads(limit_s, load=demand) == pytest.approx(
                tuple(expected), abs=1e-9
            )
