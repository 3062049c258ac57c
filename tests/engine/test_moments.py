"""On round numbers things happen at the same moment, and no rounding may part them.

The slow twin counts in fractions here, so that equal times are equal by construction.
"""

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from llmserve_lab.engine import (
    Chunked,
    ChunkedWithin,
    Continuous,
    Disaggregated,
    IterationCost,
    IterationLoad,
    Policy,
    Pool,
    Report,
    Request,
    Static,
    simulate,
)
from tests.engine.scenarios import Scenario, slow
from tests.engine.test_against_simpy import same

TEN_MS = IterationCost(weights_s=0.01)


def exact(number: float) -> Fraction:
    """The decimal that was written, not the nearest binary one."""
    return Fraction(repr(float(number)))


def cost(draw: Random) -> IterationCost:
    return IterationCost(
        row_s=draw.choice([0.0005, 0.001, 0.002]),
        weights_s=draw.choice([0.01, 0.02]),
        kv_token_s=draw.choice([0.0, 0.001]),
        overhead_s=draw.choice([0.0, 0.01]),
        overlap=draw.choice([0.0, 0.5, 1.0]),
        kv_bytes_per_token=1.0,
        n_layers=draw.choice([1, 2, 5]),
    )


def pool(draw: Random, *, replicas: int, frozen: bool) -> Pool:
    most = draw.choice([2, 4, 256])
    policies: list[Policy] = [
        Continuous(most),
        Continuous(most, mixed=False),
        Continuous(most, reserve_output=True),
        Chunked(draw.choice([4, 10, 20]), most),
        ChunkedWithin(draw.choice([0.02, 0.03, 0.05]), most, least=2),
        *([Static(draw.randint(1, 4))] * frozen),
    ]
    blocks = draw.choice([8, 12, 40])
    return Pool(cost(draw), draw.choice(policies), replicas, kv_blocks=blocks)


def round_numbers(seed: int, *, replicas: int, split: bool) -> Scenario:
    draw = Random(seed)
    times = sorted(draw.randint(0, 60) / 100 for _ in range(draw.randint(3, 10)))
    requests = tuple(
        Request(
            arrival_s=now_s,
            prompt_len=draw.choice([10, 20, draw.randint(1, 60)]),
            output_len=draw.randint(1, 40),
            id=number,
        )
        for number, now_s in enumerate(times)
    )
    clients = draw.choice([None, None, 1, 3, 5])
    both = [pool(draw, replicas=replicas, frozen=not split) for _ in range(2)]
    if not split:
        return Scenario(requests, both[0], clients)
    deployment = Disaggregated(
        prefill=both[0],
        decode=both[1],
        bytes_per_s=draw.choice([500.0, 1000.0, 2000.0]),
        latency_s=draw.choice([0.0, 0.01]),
        streamed=draw.random() < 0.5,
    )
    return Scenario(requests, deployment, clients)


def times(report: Report) -> dict[str, Any]:
    names = ("arrival_s", "scheduled_s", "first_token_s", "last_token_s", "finished_s")
    return {name: getattr(report, name) for name in names}


@pytest.mark.parametrize("split", [False, True])
def test_the_twin_that_rounds_nothing_has_the_same_times(split: bool) -> None:
    for seed in range(12, 27):
        given = round_numbers(seed, replicas=1 if split else 1 + seed % 3, split=split)
        lives = slow(given, exact)
        for leap in (True, False):
            report = given.fast(leap=leap)
            twins = [lives[int(number)] for number in report.id]
            expected = {
                "arrival_s": [life.arrived_s for life in twins],
                "scheduled_s": [life.scheduled_s for life in twins],
                "first_token_s": [life.token_times_s[0] for life in twins],
                "last_token_s": [life.token_times_s[-1] for life in twins],
                "finished_s": [life.answered_s for life in twins],
            }
            for name, found in times(report).items():
                wanted = [float(moment) for moment in expected[name]]
                same(found, wanted, f"{name}, seed {seed}, leap {leap}")


TOGETHER = (12, 38, 63, 67, 144, 148, 265, 271)  # replicas that end at one moment


@pytest.mark.parametrize("split", [False, True])
def test_a_leap_is_the_steps_it_skips_where_replicas_end_together(split: bool) -> None:
    for seed in (*range(10), *TOGETHER):
        given = round_numbers(seed, replicas=2, split=split)
        leaps, steps = given.fast(), given.fast(leap=False)
        same(leaps.id, steps.id, f"id, seed {seed}")
        for name, found in times(leaps).items():
            same(found, times(steps)[name], f"{name}, seed {seed}")


@pytest.mark.parametrize("split", [False, True])
def test_the_clock_never_runs_back_not_even_by_rounding(split: bool) -> None:
    for seed in TOGETHER:
        given, looks = round_numbers(seed, replicas=2, split=split), list[float]()

        def look(now_s: float, looks: list[float] = looks) -> bool:
            looks.append(now_s)
            return False

        simulate(given.requests, given.deployment, clients=given.clients, stop=look)
        assert looks == sorted(looks)


@pytest.mark.parametrize("leap", [True, False])
def test_who_comes_at_a_boundary_is_in_the_next_iteration(leap: bool) -> None:
    """By hand: of iterations of 10 ms, the k-th carries who comes at k · 10 ms."""
    for beat in range(1, 60):
        requests = [
            Request(arrival_s=0, prompt_len=1, output_len=60, id=0),
            Request(arrival_s=beat / 100, prompt_len=1, output_len=2, id=1),
        ]
        report = simulate(requests, Pool(TEN_MS, Continuous(), kv_blocks=9), leap=leap)
        assert report.ttft_s == pytest.approx([0.01, 0.01], abs=1e-12)
        assert (report.queue_s >= 0).all()


@pytest.mark.parametrize("leap", [True, False])
def test_a_limit_that_is_met_exactly_is_kept(leap: bool) -> None:
    requests = [
        Request(arrival_s=number / 100, prompt_len=1, output_len=20, id=number)
        for number in range(50)
    ]
    report = simulate(requests, Pool(TEN_MS, Continuous(), kv_blocks=99), leap=leap)
    assert report.goodput(ttft_s=0.01, tbt_s=0.01, tpot_s=0.01) == report.requests_per_s
    assert report.goodput(ttft_s=0.01, tbt_s=0.00999999) == 0


def test_a_chunk_that_meets_the_target_exactly_is_in_time() -> None:
    for rows in range(1, 60):
        target_s = rows / 1000
        found = IterationCost(row_s=1e-3).chunk_within(
            target_s, load=IterationLoad(0, 0, 0), context=0
        )
        assert found == rows


def test_what_arrives_together_arrives_in_the_order_in_which_it_was_sent() -> None:
    """Both at 0.21 s: seven tokens from 0.07 s on, and six tokens from 0.09 s on."""
    slow_one = IterationCost(row_s=0.01, kv_bytes_per_token=1)
    deployment = Disaggregated(
        prefill=Pool(slow_one, Continuous(), 2, kv_blocks=9),
        decode=Pool(slow_one, Continuous(max_batch=1), kv_blocks=9),
        bytes_per_s=50,
    )
    requests = [
        Request(arrival_s=0, prompt_len=7, output_len=3, id=0),
        Request(arrival_s=0.03, prompt_len=6, output_len=3, id=1),
    ]
    report = simulate(requests, deployment)
    assert list(report.id) == [0, 1]
    assert report.last_token_s == pytest.approx([0.23, 0.25])
