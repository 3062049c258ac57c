"""The control loop against its rules, and a scaled run against its requests."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.capacity import runs
from llmserve_lab.capacity.autoscaling import (
    Autoscaler,
    Scaled,
    ScaledRun,
    Watch,
    scaled,
)
from llmserve_lab.capacity.loads import arrivals, asked, ramp
from llmserve_lab.capacity.triangle import LEVEL, goodput, points, pool
from llmserve_lab.engine import Pool, Request, simulate
from tests.capacity.draws import under_way_of

RATE = ramp(low=4.0, high=30.0, up_min=1.0, ramp_min=0.5, down_min=3.0)


@cache
def one() -> Pool:
    return pool("llama-3.1-8b", "h100-sxm")


@cache
def burst() -> tuple[Request, ...]:
    return asked(RATE, seconds=300.0, most=30.0)


def run(**kwargs: Any) -> ScaledRun:
    return scaled(burst(), one(), Autoscaler(**kwargs))


@pytest.mark.parametrize("signal", ["queue", "kv", "ttft", "requests", "none"])
def test_every_request_is_answered_once_with_all_its_tokens(signal: str) -> None:
    found = run(signal=signal, target=0.5 if signal == "kv" else 20.0, cold_s=30.0)
    report = found.report
    assert sorted(report.id.tolist()) == [each.id for each in burst()]
    assert report.output_len.sum() == sum(each.output_len for each in burst())
    assert report.prompt_len.sum() == sum(each.prompt_len for each in burst())


def test_a_fixed_number_is_the_pool_without_an_autoscaler() -> None:
    found = run(signal="none", fewest=2)
    plain = simulate(burst(), replace(one(), replicas=2))
    np.testing.assert_allclose(found.report.finished_s, plain.finished_s)
    assert found.replica_s == pytest.approx(2 * plain.elapsed_s)


def test_what_is_paid_is_what_stands() -> None:
    """Within a period of the minutes that the dashboard shows."""
    found = run(signal="requests", target=20.0, cold_s=30.0)
    stands = [each.ready + each.starting for each in found.minutes]
    paid = 60.0 * sum(stands)
    slack = 60.0 * (max(stands) + sum(abs(np.diff(stands)))) + 60 * max(stands)
    assert abs(found.replica_s - paid) <= slack


def test_a_replica_serves_nothing_before_its_cold_start_is_over() -> None:
    slow, fast = (run(signal="requests", target=20.0, cold_s=c) for c in (120.0, 15.0))
    first = next(m.minute for m in slow.minutes if m.starting)
    later = [m.ready for m in slow.minutes if m.minute < first + 2]
    assert set(later) == {1}
    assert fast.kept(LEVEL) > slow.kept(LEVEL)


@given(
    st.lists(st.floats(0, 100), min_size=2, max_size=8), st.integers(1, 8), st.data()
)
def test_what_is_taken_away_started_last(
    since: list[float], goal: int, data: st.DataObject
) -> None:
    """Whatever has served longest goes on; what is missing starts now."""
    loop = Scaled(Autoscaler("requests", 20.0), Watch())
    loop.ready_s = dict(enumerate(data.draw(st.permutations(since))))
    before = sorted(loop.ready_s.values())
    loop._resize(goal, (), now_s=200.0)
    kept = sorted(loop.ready_s.values())
    assert kept[: len(before)] == before[: min(goal, len(before))]
    started = kept[len(before) :]
    assert started == [200.0 + loop.policy.cold_s] * max(0, goal - len(before))


def test_missed_requests_are_counted_by_the_minute_of_their_arrival() -> None:
    found = run(signal="none", fewest=1)
    missed = found.missed_by_minute(LEVEL)
    assert missed.sum() == pytest.approx((1 - found.kept(LEVEL)) * len(burst()))
    assert missed[:1].sum() < missed[2:4].sum()


@given(
    st.lists(st.integers(0, 200), min_size=1, max_size=8),
    st.integers(1, 60),
    st.integers(1, 8),
)
def test_the_wish_is_within_its_limits(
    values: list[int], target: int, before: int
) -> None:
    loop = Autoscaler("requests", target=float(target), most=8)
    wish = loop.wanted(values, before)
    assert 1 <= wish <= 8 and wish <= max(2 * before, before + 4)
    asked_for = sum(values) / target
    if abs(asked_for - before) <= 0.1 * before:
        assert wish == before
    elif 1 <= asked_for <= min(8, max(2 * before, before + 4)):
        assert asked_for <= wish < asked_for + 1


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"signal": "mood"}, "signal must be one of"),
        ({"signal": "kv", "target": 0.0}, "target must be"),
        ({"signal": "kv", "cold_s": -1.0}, "cold_s must be finite and at least 0"),
        ({"signal": "kv", "fewest": 0}, "fewest must be"),
        ({"signal": "kv", "fewest": 4, "most": 2}, "most must be"),
    ],
)
def test_a_wrong_autoscaler_is_refused(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Autoscaler(**kwargs)


def test_no_requests_are_refused() -> None:
    with pytest.raises(ValueError, match="requests must hold at least 1 request"):
        scaled([], one(), Autoscaler("kv"))


def test_arrivals_follow_their_rate() -> None:
    times = arrivals(RATE, seconds=300.0, most=30.0, seed=5)
    calm, busy = ((times < 60).sum() / 60, ((times > 90) & (times < 180)).sum() / 90)
    assert calm == pytest.approx(4.0, rel=0.3) and busy == pytest.approx(30.0, rel=0.1)
    assert (np.diff(times) > 0).all()


@pytest.mark.parametrize("signal", ["requests", "none"])
def test_what_is_paid_in_a_span_leaves_out_what_is_worked_off_after_it(
    signal: str,
) -> None:
    found = run(signal=signal, target=20.0, cold_s=30.0)
    end_s = max(each.arrival_s for each in burst())
    over_s = found.report.elapsed_s - end_s
    stands = found.minutes[-1].ready + found.minutes[-1].starting
    assert over_s > 0
    paid_s = found.replica_s_until(end_s)
    assert found.replica_s - paid_s == pytest.approx(stands * over_s)


def test_every_policy_pays_for_the_same_half_hour() -> None:
    """One replica for half an hour is half a GPU-hour; three are three halves."""
    alone = runs.scaled_run("KV cache in use, 80%")
    three = runs.scaled_run("none: 3 from the start")
    assert set(alone.ready) == {1} and alone.starts == 0
    assert alone.gpu_h == pytest.approx(0.5) and three.gpu_h == pytest.approx(1.5)


@pytest.mark.parametrize("name", runs.TARGETS)
def test_the_starts_are_those_that_the_minutes_show(name: str) -> None:
    """A start of three minutes is seen at the ends of three minutes."""
    found = runs.scaled_run(name)
    assert sum(found.starting) == pytest.approx(3 * found.starts, abs=3)


@pytest.mark.parametrize("name", runs.TARGETS)
def test_added_replicas_are_those_beside_the_one_that_stands(name: str) -> None:
    """What is dropped and started again is another start, but no added replica."""
    found = runs.scaled_run(name)
    most = max(map(sum, zip(found.ready, found.starting, strict=True)))
    assert found.added() == most - 1 <= min(found.starts, runs.MOST - 1)
    minutes = found.added() * 180 / 60
    assert found.starting_usd(60.0) == pytest.approx(minutes)  # a dollar a minute


def test_a_sum_is_ignored_within_a_tenth_of_all_replicas_targets() -> None:
    loop = Autoscaler("requests", target=35)
    assert loop.wanted([38.0] * 5, 5) == 5 and loop.wanted([39.0] * 5, 5) == 6
    assert 5 * (38 - 35) > 35 / 10


@pytest.mark.long
def test_the_target_of_the_plan_orders_before_the_goodput_of_its_traffic() -> None:
    """That of the burst, whose lengths are even, would order after it."""
    _, under_way = runs.little_of_the_hour()
    early, late = (Autoscaler("requests", target) for target in (24.0, 35.0))
    assert early.wanted([under_way], 1) == 2 and late.wanted([under_way], 1) == 1


def test_the_target_orders_before_the_goodput_is_reached() -> None:
    rate = goodput(points(), LEVEL.ttft_s, LEVEL.tpot_s)
    (target,) = [value for kind, value in runs.TARGETS.values() if kind == "requests"]
    assert target < 39.0
    for seed in (1, 2, 3):
        under_way = under_way_of(rate, seed)
        assert Autoscaler("requests", target).wanted([under_way], 1) > 1
        assert Autoscaler("requests", 39.0).wanted([under_way], 1) > 1
        assert Autoscaler("requests", 43.0).wanted([under_way], 1) == 1


def test_a_loop_that_reads_old_values_orders_as_much_later() -> None:
    """The same steps, two periods after: the first order comes with what it reads."""
    fresh, old = (
        run(signal="requests", target=20.0, cold_s=30.0, late_s=late_s)
        for late_s in (0.0, 30.0)
    )
    first = [
        next(each.minute for each in found.minutes if each.ready + each.starting > 1)
        for found in (fresh, old)
    ]
    assert first[0] <= first[1] <= first[0] + 1
    assert old.kept(LEVEL) < fresh.kept(LEVEL)
    with pytest.raises(ValueError, match="late_s must be finite and at least 0"):
        Autoscaler("requests", late_s=-1.0)


def test_a_full_cache_asks_for_a_quarter_more_and_no_further() -> None:
    """A use of the cache is at most 1, however many wait."""
    loop = Autoscaler("kv", target=0.8, most=runs.MOST)
    assert loop.wanted([1.0], 1) == 2 and loop.wanted([1.0] * 4, 4) == 5
    slots = runs.scaled_run("KV cache in use, 80%")
    limits = runs.scaled_run("KV cache in use, 80%", defaults=True)
    assert max(slots.ready) == 1 < max(limits.ready) < runs.MOST
    assert max(slots.signal) < 0.8 < max(limits.signal) <= 1
    assert slots.kept < limits.kept < runs.scaled_run("KV cache in use, 10%").kept
