"""Who is admitted next and who is preempted, against a queue sorted from scratch."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from llmserve_lab.engine import (
    BatchState,
    Chunked,
    Continuous,
    Disaggregated,
    Fcfs,
    IterationCost,
    Order,
    Pool,
    Priority,
    Report,
    Request,
    ShortestPromptFirst,
    Static,
    simulate,
)
from llmserve_lab.engine.scheduler.sequence import Sequence
from tests.engine.orders import FairShare, LongestYields, Patience
from tests.engine.scenarios import Scenario, scenario, slow
from tests.engine.test_against_simpy import same

COST = IterationCost(row_s=1e-3)  # a prompt of n tokens is prefilled in n ms
ORDERS: tuple[Order, ...] = (
    ShortestPromptFirst(),
    Priority(),
    FairShare(),
    LongestYields(),
    Patience(),
)


def of(seed: int) -> Order:
    return ORDERS[seed // len(ORDERS) % len(ORDERS)]


def with_order(pool: Pool, order: Order) -> Pool:
    policy: Any = pool.policy
    return replace(
        pool,
        policy=replace(policy, order=order),
        kv_blocks=min(pool.num_blocks, 9),  # memory is short
    )


def ordered(seed: int) -> Scenario:
    """A scenario whose requests have priorities and users, under one of the orders."""
    given, draw = scenario(seed), Random(-seed - 1)
    requests = tuple(
        replace(each, priority=draw.randint(0, 3), user=draw.randint(0, 2))
        for each in given.requests
    )
    order, deployment = of(seed), given.deployment
    if isinstance(deployment, Disaggregated):
        prefill, decode = deployment.prefill, deployment.decode
        deployment = replace(
            deployment,
            prefill=with_order(prefill, order),
            decode=with_order(decode, order),
        )
    else:
        deployment = with_order(deployment, order)
    return replace(given, requests=requests, deployment=deployment)


SCENARIOS = {seed: ordered(seed) for seed in range(2_000, 2_150)}


def times(report: Report) -> list[Any]:
    names = ("id", "scheduled_s", "first_token_s", "finished_s", "preemptions")
    return [getattr(report, name) for name in names]


@pytest.mark.parametrize("last", range(5))
def test_the_slow_twin_chooses_the_same(last: int) -> None:
    for seed, given in SCENARIOS.items():
        if seed % 5 != last:
            continue
        report, lives = given.fast(), slow(given)
        twins = [lives[int(number)] for number in report.id]
        assert len(lives) == report.num_requests == len(given.requests), seed
        note = f"{of(seed)}, seed {seed}"
        same(report.scheduled_s, [life.scheduled_s for life in twins], note)
        first = [life.token_times_s[0] for life in twins]
        same(report.first_token_s, first, note)
        same(report.finished_s, [life.answered_s for life in twins], note)
        same(report.preemptions, [life.preemptions for life in twins], note)
        gaps = [b - a for v in twins for a, b in pairwise(v.token_times_s)]
        assert report.gaps.total_s == pytest.approx(sum(gaps))


def test_an_order_changes_nothing_about_leaping() -> None:
    for seed, given in SCENARIOS.items():
        for leaps, steps in zip(
            times(given.fast()), times(given.fast(leap=False)), strict=True
        ):
            same(leaps, steps, f"{of(seed)}, seed {seed}")


def test_every_order_differs_from_first_come_first_served_and_preempts() -> None:
    other, preempted = Counter[str](), Counter[str]()
    for seed, given in SCENARIOS.items():
        name = type(of(seed)).__name__
        report = given.fast()
        deployment = given.deployment
        if isinstance(deployment, Disaggregated):
            continue
        plain = replace(given, deployment=with_order(deployment, Fcfs())).fast()
        other[name] += not np.array_equal(report.finished_s, plain.finished_s)
        preempted[name] += bool(report.preemptions.any())
    assert min(other[type(order).__name__] for order in ORDERS) >= 3, other
    assert min(preempted[type(order).__name__] for order in ORDERS) >= 3, preempted


def ask(number: int, prompt: int, output: int = 1, **others: Any) -> Request:
    return Request(
        arrival_s=0, prompt_len=prompt, output_len=output, id=number, **others
    )


def test_shortest_first_is_best_in_the_mean_and_worst_for_the_longest() -> None:
    """By hand: one by one, each prompt waits for all that are shorter."""
    lengths = [50, 20, 90, 10, 40]
    requests = [ask(number, length) for number, length in enumerate(lengths)]
    one = Continuous(1, order=ShortestPromptFirst())
    report = simulate(requests, Pool(COST, one, kv_blocks=99))
    waits = dict(zip(report.id.astype(int), report.queue_s, strict=True))
    for number, length in enumerate(lengths):
        shorter = sum(other for other in lengths if other < length)
        assert waits[number] == pytest.approx(shorter * 1e-3)
    fcfs = simulate(requests, Pool(COST, Continuous(1), kv_blocks=99))
    assert report.queue_s.mean() < fcfs.queue_s.mean()


@pytest.mark.parametrize("policy", [Continuous, Chunked, Static])
def test_the_urgent_overtake_those_that_wait_but_interrupt_nobody(policy: Any) -> None:
    requests = [ask(0, 64, priority=2), ask(1, 64, priority=2), ask(2, 64, priority=1)]
    requests.append(replace(ask(3, 64), arrival_s=0.01))
    rule = replace(Chunked(64, 1) if policy is Chunked else policy(1), order=Priority())
    report = simulate(requests, Pool(COST, rule, kv_blocks=99))
    assert list(report.id) == [2, 3, 0, 1]


def test_the_least_urgent_is_preempted() -> None:
    """Two blocks each fill at one moment, and one block is free."""
    ranks = [0, 3, 1]
    requests = [ask(n, 16, 30, priority=rank) for n, rank in enumerate(ranks)]
    pool = Pool(COST, Continuous(order=Priority()), kv_blocks=7)
    report = simulate(requests, pool)
    hit = dict(zip(report.id.astype(int), report.preemptions, strict=True))
    assert hit[0] == hit[2] == 0 and hit[1] > 0


def test_users_share_the_batch() -> None:
    """One user sends twenty requests, the other one, which does not wait for them."""
    requests = [ask(number, 20, 5, user=0) for number in range(20)]
    requests.append(ask(20, 20, 5, user=1))
    waits = {}
    for order in (Fcfs(), FairShare()):
        pool = Pool(COST, Continuous(2, order=order), kv_blocks=99)
        report = simulate(requests, pool)
        waits[type(order)] = float(report.queue_s[report.id == 20][0])
    assert waits[FairShare] < waits[Fcfs] / 5


@pytest.mark.parametrize("leap", [True, False])
def test_a_choice_that_changes_with_time_is_asked_for_in_time(leap: bool) -> None:
    """By hand: the long prompt does not fit; after 20 ms the short one is next."""
    late = [replace(ask(n, size), arrival_s=0.005) for n, size in ((1, 80), (2, 10))]
    ten_ms = IterationCost(weights_s=0.01)
    pool = Pool(ten_ms, Continuous(order=Patience()), kv_blocks=6)
    report = simulate([ask(0, 16, 40), *late], pool, leap=leap)
    assert list(report.id) == [2, 0, 1]
    assert report.scheduled_s[0] == pytest.approx(0.03)


class Wrong(Order):
    def __init__(self, choose: Callable[[BatchState], Any]) -> None:
        object.__setattr__(self, "choose", choose)

    def next(self, state: BatchState) -> Any:
        return self.choose(state)  # type: ignore[attr-defined]


def test_a_choice_that_cannot_be_is_refused() -> None:
    stranger = Sequence(ask(9, 3))
    requests = [ask(0, 10), ask(1, 10)]
    for choose, message in (
        (lambda state: stranger, "next must be a request that waits.*Sequence.id=9"),
        (lambda state: state, "next must be a request that waits, .*Replica"),
        (lambda state: state.waiting, "next must be a request that waits, .*deque"),
        (lambda state: state.waiting[0].request, r"that waits, .* got Request\("),
        (lambda state: 0, "that waits, or None, got 0 with 2 waiting"),
        (lambda state: None, "next must admit a request where none runs, got None"),
    ):
        order = Wrong(choose)
        for policy in (Continuous(order=order), Chunked(8, order=order)):
            with pytest.raises((ValueError, RuntimeError), match=message):
                simulate(requests, Pool(COST, policy, kv_blocks=9))
        with pytest.raises((ValueError, RuntimeError), match=message):
            simulate(requests, Pool(COST, Static(2, order=order), kv_blocks=9))


class WrongVictim(Order):
    def __init__(self, choose: Callable[[BatchState], Any]) -> None:
        object.__setattr__(self, "choose", choose)

    def victim(self, state: BatchState) -> Any:
        return self.choose(state)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("choose", "got"),
    [
        (lambda state: None, "None"),
        (lambda state: 0, "0"),
        (lambda state: state.running()[0].request, r"Request\("),
        (lambda state: Sequence(ask(9, 3)), "Sequence.id=9"),
    ],
)
def test_a_victim_that_does_not_run_is_refused(
    choose: Callable[[BatchState], Any], got: str
) -> None:
    pool = Pool(COST, Continuous(order=WrongVictim(choose)), kv_blocks=4)
    with pytest.raises(
        ValueError, match=f"victim must be a request that runs, got {got}"
    ):
        simulate([ask(0, 16, 40), ask(1, 16, 40)], pool)


def test_an_order_and_a_priority_are_of_their_types() -> None:
    with pytest.raises(TypeError, match="order must be of type Order, got 'fcfs'"):
        Continuous(order="fcfs")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="priority must be a whole number"):
        ask(0, 1, priority=0.5)
