"""Preemption by swapping, against the slow twin and against recomputation."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from llmserve_lab.engine import (
    Chunked,
    Continuous,
    Disaggregated,
    IterationCost,
    Pool,
    Request,
    simulate,
)
from tests.engine.scenarios import Scenario, scenario, slow
from tests.engine.test_against_simpy import same

TEN_MS = IterationCost(weights_s=0.01, kv_bytes_per_token=2.0, kv_copies=2.0)


def swapping(seed: int) -> Scenario:
    """A scenario whose pools are short of memory and swap, at one rate or another."""
    given, draw = scenario(seed), Random(-seed - 1)
    deployment = given.deployment
    if isinstance(deployment, Disaggregated):
        decode = swapped(deployment.decode, draw)
        return replace(given, deployment=replace(deployment, decode=decode))
    return replace(given, deployment=swapped(deployment, draw))


def swapped(pool: Pool, draw: Random) -> Pool:
    rate = draw.choice([500.0, 5e3, 5e4])
    return replace(pool, kv_blocks=8, swap_bytes_per_s=rate)


SCENARIOS = {seed: swapping(seed) for seed in range(3_000, 3_060)}


def test_the_slow_twin_swaps_as_long() -> None:
    preempted = 0
    for seed, given in SCENARIOS.items():
        report, lives = given.fast(), slow(given)
        twins = [lives[int(number)] for number in report.id]
        note = f"seed {seed}"
        first = [life.token_times_s[0] for life in twins]
        same(report.first_token_s, first, note)
        same(report.finished_s, [life.answered_s for life in twins], note)
        same(report.preemptions, [life.preemptions for life in twins], note)
        assert report.recomputed_tokens == 0
        preempted += bool(report.preemptions.any())
    assert preempted >= 10


def test_a_leap_over_swaps_is_the_steps_it_skips() -> None:
    for seed, given in SCENARIOS.items():
        leaps, steps = given.fast(), given.fast(leap=False)
        same(leaps.finished_s, steps.finished_s, f"seed {seed}")
        same(leaps.gaps.total_s, steps.gaps.total_s, f"seed {seed}")


def test_what_is_swapped_is_not_run_again_but_copied_twice() -> None:
    """By hand: 16 tokens of 4 bytes each go out and come back at 640 byte/s."""
    requests = [
        Request(arrival_s=0, prompt_len=16, output_len=3, id=number)
        for number in range(2)
    ]
    pool = Pool(TEN_MS, Continuous(), kv_blocks=3, swap_bytes_per_s=640.0)
    report = simulate(requests, pool, leap=False, log=True)
    assert report.log is not None
    use = report.pools["pool"]
    assert (report.num_preemptions, use.swapped_tokens) == (1, 16)
    assert [step.seconds for step in report.log] == pytest.approx(
        [0.01, 0.11, 0.01, 0.11, 0.01]  # out before the second, back before the fourth
    )
    assert [step.load.rows for step in report.log] == [32, 1, 1, 1, 1]
    assert report.gaps.longest_s == pytest.approx(0.23)


def test_a_fast_link_beats_recomputation_and_a_slow_one_does_not() -> None:
    cost = IterationCost(row_s=1e-3, kv_bytes_per_token=1.0)
    requests = [
        Request(arrival_s=0, prompt_len=40, output_len=40, id=number)
        for number in range(6)
    ]
    ends = [
        simulate(
            requests, Pool(cost, Chunked(64), kv_blocks=12, swap_bytes_per_s=rate)
        ).elapsed_s
        for rate in (1e9, None, 10.0)
    ]
    assert ends == sorted(ends) and len(set(np.round(ends, 6))) == 3


def test_swapping_needs_a_rate_and_bytes() -> None:
    with pytest.raises(ValueError, match="swap_bytes_per_s must be positive, got 0"):
        Pool(TEN_MS, Continuous(), swap_bytes_per_s=0)
    free = IterationCost(weights_s=0.01)
    with pytest.raises(ValueError, match="kv_bytes_per_token must be positive, got 0"):
        Pool(free, Continuous(), swap_bytes_per_s=1.0)
