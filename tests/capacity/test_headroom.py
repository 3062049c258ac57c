"""Headroom against a ramp followed second by second, and against the engine."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab import running_example
from llmserve_lab.capacity import at_goodput, budget, headroom, runs
from llmserve_lab.capacity.autoscaling import PERIOD_S, Autoscaler, Minute, scaled
from llmserve_lab.capacity.sweep import LONG_S
from llmserve_lab.capacity.triangle import (
    LEVEL,
    LOADS,
    goodput,
    points,
    pool,
    served,
)
from llmserve_lab.engine import Chunked, Pool
from tests.capacity.draws import under_way_of

FAST, SLOW = runs.FAST_S, runs.SLOW_S


def arrives_when_it_serves(
    order: float, per_s2: float, cold_s: float, late_s: float = 0.0
) -> float:
    """Rate when the ordered replica serves: the loop sees the order's rate too late."""
    rate, second = order, 0.0
    while second < PERIOD_S + cold_s + late_s:
        rate, second = rate + per_s2, second + 1
    return rate


@given(st.floats(5, 50), st.floats(0.001, 0.05), st.integers(0, 300), st.integers(1, 9))
def test_what_is_ready_just_carries_the_rate_at_which_the_ordered_one_serves(
    one: float, per_s2: float, cold_s: int, ready: int
) -> None:
    order = headroom.order_rate(one, per_s2, cold_s, ready)
    rate = arrives_when_it_serves(ready * order, per_s2, cold_s)
    assert rate == pytest.approx(ready * one)
    aged = headroom.order_rate(one, per_s2, cold_s, ready, 30.0)
    rate = arrives_when_it_serves(ready * aged, per_s2, cold_s, 30.0)
    assert rate == pytest.approx(ready * one) and aged < order
    assert headroom.order_rate(one, per_s2, cold_s, ready + 1) > order
    assert headroom.order_rate(one, per_s2, cold_s + 1, ready) < order


def test_without_a_ramp_the_goodput_is_soon_enough() -> None:
    assert headroom.order_rate(13.8, 0.0, SLOW) == 13.8


def test_one_replica_has_a_target_for_a_fast_start_and_none_for_a_slow_one() -> None:
    rate = round(goodput(points(), LEVEL.ttft_s, LEVEL.tpot_s), 1)
    per_s2 = headroom.growth()
    assert per_s2 * 60 == pytest.approx(10)  # ten a second more in each minute
    assert headroom.order_rate(rate, per_s2, SLOW) < 0
    assert headroom.order_rate(rate, per_s2, SLOW, 2) < runs.LOW / 2
    assert 2 * rate < runs.HIGH <= 3 * rate  # so the reserve is three
    top = {"highest": runs.HIGH}
    assert math.isinf(headroom.order_rate(rate, per_s2, SLOW, 3, **top))
    two = headroom.order_rate(rate, per_s2, SLOW, 2)
    assert headroom.order_rate(rate, per_s2, SLOW, 2, **top) == two
    # By the growth alone three would be too few: the ramp ends before.
    assert headroom.order_rate(rate, per_s2, SLOW, 3) < runs.LOW / 3
    order = headroom.order_rate(rate, per_s2, FAST, 2)
    for seed in headroom.DRAWS:
        under_way = under_way_of(order, seed)
        assert Autoscaler("requests", 21.0).wanted([under_way] * 2, 2) > 2
        assert Autoscaler("requests", 24.0).wanted([under_way] * 2, 2) == 2
    assert headroom.TAKEN[0.0] == 21.0


@given(st.floats(5, 50), st.floats(0.001, 0.2), st.integers(0, 300), st.floats(1, 40))
def test_the_replicas_that_stand_are_the_fewest_whose_order_is_not_always_due(
    one: float, per_s2: float, cold_s: int, lowest: float
) -> None:
    """Each has its share of the lowest rate; fewer would order at once."""
    ready = headroom.standing(one, per_s2, cold_s, lowest)
    order = headroom.order_rate(one, per_s2, cold_s, ready)
    assert lowest / ready <= order + 1e-9
    if ready > 1:
        fewer = headroom.order_rate(one, per_s2, cold_s, ready - 1)
        assert lowest / (ready - 1) > fewer - 1e-9


def test_two_that_stand_order_nothing_before_the_ramp() -> None:
    """At the lowest rate each is far below the target; one alone would exceed it."""
    rate = round(goodput(points(), LEVEL.ttft_s, LEVEL.tpot_s), 1)
    assert headroom.standing(rate, headroom.growth(), FAST) == 2
    loop = Autoscaler("requests", 21.0, fewest=2)
    alone, apart = runs.little(runs.LOW)[1], runs.little(runs.LOW / 2)[1]
    assert loop.wanted([alone], 1) == 2
    assert loop.wanted([apart] * 2, 2) == 2


def test_with_the_oldest_metrics_two_order_at_what_always_arrives() -> None:
    """The tenth that the loop ignores takes the target below it; three have room."""
    rate = round(goodput(points(), LEVEL.ttft_s, LEVEL.tpot_s), 1)
    growth, age = headroom.growth(), headroom.WORST_METRIC_S
    two, three = (headroom.order_rate(rate, growth, FAST, each, age) for each in (2, 3))
    assert arrives_when_it_serves(2 * two, growth, FAST, age) == pytest.approx(2 * rate)
    assert runs.little(two)[1] / 1.1 < runs.little(runs.LOW / 2)[1]
    assert runs.little(three)[1] / 1.1 > runs.little(runs.LOW / 3)[1]


@pytest.mark.parametrize("seed", headroom.DRAWS)
def test_two_stand_when_the_ramp_begins(seed: int) -> None:
    one = pool("llama-3.1-8b", "h100-sxm")
    before = [each for each in runs.burst(seed) if each.arrival_s < 60 * runs.UP_MIN]
    policy = Autoscaler("requests", 21.0, cold_s=FAST, fewest=2, most=runs.MOST)
    *_, last = scaled(before, one, policy).minutes
    assert (last.ready, last.starting) == (2, 0)


def test_in_the_engine_headroom_makes_a_start_nearly_harmless() -> None:
    """In every draw; a low target pays for it with more replicas all along."""
    plain, low = (headroom.late(FAST, each, 1) for each in (35.0, 11.0))
    two, right = (headroom.late(FAST, each, 2) for each in (35.0, 21.0))
    slow, reserve = headroom.late(SLOW, 35.0, 1), headroom.late(SLOW, 35.0, 3)
    assert max(low.shares) < max(right.shares) < min(plain.shares) / 2
    assert max(right.shares) < min(two.shares)
    assert plain.hours < two.hours < right.hours < low.hours / 1.4
    assert max(reserve.shares) < 0.02 < 0.15 < min(slow.shares)
    aged, lower = (headroom.late(FAST, each, 2, 15.0) for each in (21.0, 17.0))
    assert max(right.shares) < max(aged.shares)  # old metrics, the same target
    assert max(lower.shares) < max(aged.shares) and aged.hours < lower.hours


def test_a_low_target_without_a_reserve_is_safe_in_some_draws_only() -> None:
    """What the sum says: no target of one replica is low enough."""
    luck, bad = (headroom.late(SLOW, each, 1) for each in (15.0, 20.0))
    assert min(luck.shares) < 0.01 < 0.05 < max(luck.shares)
    assert min(bad.shares) > 0.05


@pytest.mark.long
def test_it_is_safe_where_three_replicas_are_ordered_before_the_burst() -> None:
    """By chance; the burst takes three, and what is ordered stays five minutes."""
    one = pool("llama-3.1-8b", "h100-sxm")
    policy = Autoscaler("requests", 15.0, cold_s=SLOW, most=runs.MOST)
    luck, stood = headroom.late(SLOW, 15.0, 1), []
    for seed in headroom.DRAWS:
        seen: tuple[Minute, ...] = scaled(runs.burst(seed), one, policy).minutes
        before = next(each for each in seen if each.minute == int(runs.UP_MIN))
        stood.append(before.ready + before.starting)
    assert stood[luck.shares.index(min(luck.shares))] == 3
    assert stood[luck.shares.index(max(luck.shares))] == 2


def test_a_cap_on_requests_bounds_the_gap_and_lets_the_others_wait() -> None:
    free, capped = (
        budget.with_slots(21.5, slots, seconds=300.0) for slots in (256, 48)
    )
    assert capped.nearest_tpot_s < LEVEL.tpot_s < free.nearest_tpot_s / 2
    assert capped.nearest_ttft_s > 10 * free.nearest_ttft_s


def test_a_cap_makes_late_whoever_finds_more_waiting_than_end_in_time() -> None:
    """At the goodput: those before a request that waits go on as slots come free."""
    rate, slots = at_goodput.shown(), at_goodput.SEQS
    one = Pool(running_example.cost(), Chunked(2048, slots))
    report = served(LOADS[0], rate, one, seconds=LONG_S)
    arrived, finished = np.sort(report.arrival_s), np.sort(report.finished_s)
    inside = np.arange(len(arrived)) - np.searchsorted(finished, arrived)
    # a full server ends as many as it has slots in the mean time of an answer
    full_per_s = slots / float((report.finished_s - report.first_token_s).mean())
    late = float((inside >= slots + full_per_s * LEVEL.ttft_s).mean())
    kept = at_goodput.capped(rate, slots)
    assert 1 - kept.ttft == pytest.approx(late, abs=0.05)
    assert kept.both <= kept.ttft < 0.8 and kept.tpot > 0.95


def test_no_cap_gains_anything_at_the_goodput() -> None:
    """One so high that it never binds is none; each lower one makes requests late."""
    rate = at_goodput.shown()
    free = at_goodput.capped(rate, runs.slots())
    shares = [at_goodput.capped(rate, each) for each in sorted(budget.CAPS)]
    assert all(each.both <= free.both for each in shares)
    for one, two in pairwise(shares):  # more slots: fewer wait, each step is longer
        assert one.ttft <= two.ttft and one.tpot >= two.tpot
    assert free.both >= 0.9 > shares[0].both + 0.8


@pytest.mark.long
def test_in_other_draws_no_cap_gains_more_than_draws_differ() -> None:
    """Run by run on the same requests: the gain differs by 0.6 points.

    So three standard errors of its mean over three draws are 1.1 points.
    """
    gains = [
        budget.with_slots(13.8, slots, seconds=600.0, seed=seed).both
        - budget.with_slots(13.8, runs.slots(), seconds=600.0, seed=seed).both
        for seed in (2, 3, 4)
        for slots in (58, 62)
    ]
    assert float(np.mean(gains)) < 0.011
