"""The day under an autoscaler, and the plan by its margin, against what is counted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from llmserve_lab.capacity import (
    at_goodput,
    by_hand,
    datasheet,
    day,
    followed,
    headroom,
    levers,
    margins,
    runs,
)
from llmserve_lab.capacity.autoscaling import Autoscaler, scaled
from llmserve_lab.capacity.level import worst_late
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.runs import little
from llmserve_lab.capacity.sweep import LONG_S
from llmserve_lab.capacity.trace import azure_hour, mean_lengths
from llmserve_lab.capacity.triangle import DEVICES, LEVEL, LOADS, pool, served
from llmserve_lab.catalog.data.prices import H100_OCTOBER
from tests.each import agrees, numbers, rows

H100 = float(H100_OCTOBER)
OWN = float(recorded()["hour"]["goodput_per_s"])


@pytest.mark.parametrize("since_h", [0.0, 4.0, 12.5])
def test_requests_of_a_part_of_the_day_come_at_its_rate(since_h: float) -> None:
    """Counted minute by minute along the day's curve; lengths are the recording's."""
    part = followed.played(since_h, since_h + 0.5)
    times = np.array([each.arrival_s for each in part])
    middles = since_h + (np.arange(30) + 0.5) / 60
    want = 60 * sum(day.rate(hour) for hour in middles)
    assert len(part) == pytest.approx(want, rel=0.06)  # bursts of the recording
    assert (np.diff(times) >= 0).all() and times[0] >= 0 and times[-1] <= 1800
    known = [(each.prompt_len, each.output_len) for each in azure_hour()[:500]]
    assert [(each.prompt_len, each.output_len) for each in part[:500]] == known


def test_the_whole_day_has_the_requests_of_its_mean_rate() -> None:
    middle = (day.LOWEST + day.HIGHEST) / 2
    assert followed.so_far(24.0) == pytest.approx(24 * 3600 * middle)
    slopes = [(followed.so_far(h + 1e-4) - followed.so_far(h)) / 0.36 for h in (4, 16)]
    assert slopes == pytest.approx([day.LOWEST, day.HIGHEST], rel=1e-3)


def test_a_quiet_hour_under_the_loop_stands_on_two_and_nothing_is_late() -> None:
    part = followed.played(3.5, 4.5)
    late, hours = followed.outcome(part, followed.policy(*followed.TRIED[2]), hours=1)
    assert late < 0.01 and hours == pytest.approx(2.0, abs=0.3)
    fixed, paid = followed.outcome(part, followed.policy(*followed.TRIED[0]), hours=1)
    assert paid == 5.0 and fixed <= late + 0.002


def test_the_loop_pays_less_than_for_the_peak_and_more_than_an_oracle() -> None:
    (late5, five), (late6, six), (slow, slow_h) = followed.outcomes()
    assert (five, six) == (5 * 24, 6 * 24) and late6 < late5 < 0.1
    known = sum(day.replicas(day.hourly_rates(), OWN))
    assert known < slow_h < 0.8 * five and late6 < slow < 0.05
    burst = min(headroom.late(180.0, 35.0, 1).shares)
    assert burst > 5 * slow  # what a slow start does where the load jumps


def test_the_worst_half_hour_is_counted_by_the_clock() -> None:
    """Two quiet half hours and one in which a tenth is late, beside a day's mean."""
    arrival_s = np.arange(5400.0)
    missed = np.zeros(90)
    missed[60:63] = 60  # 180 of the 1,800 of the third
    assert worst_late(arrival_s, missed) == pytest.approx(0.1)
    assert worst_late(arrival_s, np.roll(missed, -32)) == pytest.approx(120 / 1800)
    assert worst_late(arrival_s[:10], np.array([1.0])) == 0.1
    gap = np.array([0.0, 4000.0])  # a half hour without requests is none
    assert worst_late(gap, np.zeros(67)) == 0.0
    with pytest.raises(ValueError, match="arrival_s must hold at least 1 request"):
        worst_late(np.array([]), np.array([]))


def test_a_run_is_judged_by_its_worst_half_hour() -> None:
    part = followed.played(15.5, 16.75)
    one = pool("llama-3.1-8b", "h100-sxm")
    run = scaled(part, one, Autoscaler("none", fewest=4, most=4))
    report, late = run.report, run.missed_by_minute(LEVEL)
    shares = [
        late[a : a + 30].sum()
        / ((report.arrival_s >= 60 * a) & (report.arrival_s < 60 * a + 1800)).sum()
        for a in (0, 30, 60)
    ]
    assert run.worst_late(LEVEL) == pytest.approx(max(shares))
    assert max(shares) > 1 - run.kept(LEVEL) > 0  # the mean over all is milder


def test_the_saving_compares_what_carries_the_peak_without_a_spare() -> None:
    """The loop's target and most are the plan's; its bill, too, with the spare."""
    plain = margins.planned(OWN, 0.0)
    (_, peak_h), (_, fixed_h), (_, slow_h) = followed.outcomes()
    watched, _, fewest, most = followed.TRIED[2]
    assert watched == "requests" and fewest == 2
    assert most == plain.replicas == fixed_h / 24
    assert plain.month_usd == pytest.approx(followed.month_usd(fixed_h))
    assert peak_h == 24 * (plain.replicas - margins.SPARE)
    assert 0.25 < 1 - slow_h / peak_h < 0.31
    assert OWN * at_goodput.hour_latency_s() // 1.1 == followed.TARGET


def test_three_that_are_left_suffice_and_one_does_not() -> None:
    """Both loops wait equally long; what they count decides how many they leave."""
    come = np.bincount([int(each.arrival_s // 60) for each in runs.burst()])
    flight, queue = (
        runs.scaled_run(name)
        for name in (
            "requests in flight, 35 a replica",
            "waiting requests, 5 a replica",
        )
    )
    first, end = flight.first_drop() - 1, int(runs.DOWN_MIN)
    assert {*flight.ready[first : end - 1]} == {3} and end - first > 3
    late = np.array(flight.missed) / come[: len(flight.missed)]
    assert late[first:end].max() < 0.05 and flight.signal[first - 1] * 8 > 2 * 35
    dropped = queue.first_drop() - 1
    assert (
        queue.ready[dropped] == 1
        and queue.missed[dropped + 1] > 0.9 * come[dropped + 1]
    )
    assert all(each.hold_s == 300 for each in runs.policies(runs.SLOW_S).values())


def test_each_column_of_the_day() -> None:
    shown = rows(followed.table(72))
    for row, (watched, cold_s, fewest, most), (late, hours) in zip(
        shown, followed.TRIED, followed.outcomes(), strict=False
    ):
        assert numbers(row["replicas"])[-1] == most
        assert (watched == "fixed") == ("fixed" in row["replicas"])
        assert fewest <= most and (numbers(row["cold start"]) or [0.0])[0] == cold_s
        assert numbers(row["late"])[0] == pytest.approx(100 * late, abs=0.051)
        assert agrees(row["replica-hours"], hours)
        assert agrees(row["$/month"], 30 * hours * H100)
    assert shown[-1]["replica-hours"] == "72"
    assert agrees(shown[-1]["$/month"], 30 * 72 * H100)


def test_each_column_of_the_margins() -> None:
    """Whole replicas: one fewer than those without the spare carries less."""
    offs = (1.2, 1.0, 0.85, 0.8)
    for row, off in zip(rows(margins.table(OWN)), offs, strict=True):
        rate = float(row["goodput"])
        assert rate == pytest.approx(OWN / off, abs=0.006)
        assert agrees(row["40 over it"], day.HIGHEST / rate)
        bare = int(row["replicas, one spare"]) - 1
        assert (bare - 1) * rate < day.HIGHEST <= bare * rate
        assert agrees(row["$/month"], (bare + 1) * 720 * H100)


def test_the_spare_covers_the_largest_error_known() -> None:
    """All of the plan carry the peak if the rates are so much too high; less do not."""
    cautious, plain = margins.compared(OWN)[:2]
    assert plain.replicas * cautious.goodput >= day.HIGHEST
    assert (plain.replicas - 1) * cautious.goodput < day.HIGHEST
    assert cautious.replicas == plain.replicas + 1
    for each in margins.compared(OWN)[2:]:  # measured at a TPOT: too low
        assert each.replicas == plain.replicas - 1


def test_each_column_of_the_loads_is_a_run_at_its_rate() -> None:
    shown = rows(at_goodput.table())
    for row, each in zip(shown, at_goodput.loaded(), strict=True):
        rate = float(row["requests/s"])
        assert rate == each.per_s
        assert agrees(row["in flight"], rate * each.latency_s)
        assert agrees(row["mean TPOT, ms"], 1e3 * each.tpot_s)
        assert agrees(row["p90 TPOT, ms"], 1e3 * each.p90_tpot_s)
        assert agrees(row["p90 / mean"], each.p90_tpot_s / each.tpot_s)
        assert agrees(row["mean latency, s"], each.latency_s)
        assert numbers(row["in time"])[0] == pytest.approx(100 * each.kept, abs=0.51)
    latency_s, flight = little(5.0)
    five = shown[1]
    assert float(five["mean latency, s"]) == pytest.approx(latency_s, abs=0.006)
    assert float(five["in flight"]) == pytest.approx(flight, abs=0.06)
    assert shown[-1]["requests/s"] == "17.2"  # the tail grows, the queue does not
    tails = [each.p90_tpot_s for each in at_goodput.loaded()]
    assert tails == sorted(tails)
    assert all(each.tpot_s < each.p90_tpot_s for each in at_goodput.loaded())


def test_each_column_of_the_orders() -> None:
    """The rate goes on growing from the order to the service; the rest carries it."""
    one, growth = at_goodput.shown(), 30 / 180
    *due_rows, last = rows(at_goodput.orders())
    assert (last["stand"], last["due at, /s"]) == ("3", "never")
    assert numbers(last["target below"]) == [pytest.approx(3 * one), 40]
    assert 3 * one >= 40 > 2 * one
    for row in due_rows:
        assert row["stand"] == "2"
        cold_s, age_s = (numbers(row[h])[0] for h in ("cold start", "signal's age"))
        grown = growth * (15 + cold_s + age_s)
        assert agrees(row["growth, /s"], grown)
        due = float(row["due at, /s"].replace("−", "-"))
        assert 2 * due + grown == pytest.approx(2 * one, abs=0.02)
        if row["in flight"] != "–":
            flight = float(row["in flight"])
            assert flight == pytest.approx(little(due)[1], abs=0.06)
            assert agrees(row["target below"], flight / 1.1)


def test_goodputs_for_recorded_traffic_are_less_than_for_usual_requests() -> None:
    own = recorded()["own"]
    assert own["waits"]["h100-sxm"] == OWN
    for device in DEVICES:
        waits, hidden = own["waits"][device], own["hidden"][device]
        assert waits < hidden < float(levers.stored("unwaited")[device])
    prompt, answer = mean_lengths(azure_hour())
    assert prompt > 1000 and answer > 200


def test_the_sum_by_hand_is_too_high_for_eight_bits() -> None:
    """Half of every part but the CPU's, and still a step more in its rate."""
    sum_ = levers.scaled_rate(0.5, 0.5)
    fixed_s, prompt_s, answer_s = (
        (each.arithmetic_s + each.memory_s) / 2 + each.cpu_s
        for each in datasheet.parts()
    )
    left = 1 - fixed_s * by_hand.over_mean("h100-sxm") / 0.02
    assert sum_ == pytest.approx(left / (prompt_s + answer_s))
    assert 1.15 < sum_ / float(levers.stored(levers.EIGHT)) < 1.35
    assert levers.scaled_rate(1.0, 1.0) == pytest.approx(14.35, rel=0.01)
    assert math.isclose(
        levers.rents(40, waits=True, spare=0)[0].gpus,
        math.ceil(40 / levers.rents(40, waits=True, spare=0)[0].per_s),
    )


def test_tpot_by_tokens_and_ttft_make_the_latency() -> None:
    """The mean over requests is a little longer: short answers have long gaps."""
    one = pool("llama-3.1-8b", "h100-sxm")
    for each in at_goodput.loaded()[-2:]:
        report = served(LOADS[0], each.per_s, one, seconds=LONG_S)
        gaps = report.output_len - 1
        by_tokens = (report.last_token_s - report.first_token_s).sum() / gaps.sum()
        latency_s = report.ttft_s.mean() + by_tokens * gaps.mean()
        assert latency_s == pytest.approx(each.latency_s, rel=1e-3)
        assert 1 < each.tpot_s / by_tokens < 1.02
