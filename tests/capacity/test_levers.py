"""What else moves a goodput, and which GPU that makes the cheapest."""

from __future__ import annotations

from collections import Counter

import pytest

from llmserve_lab.capacity import by_hand, levers, margins, measured, mlperf, sweep
from llmserve_lab.capacity.deployment import hourly
from llmserve_lab.capacity.tables import short
from llmserve_lab.capacity.triangle import DEVICES, LEVEL, LOADS, pool, served
from llmserve_lab.catalog.data.prices import HOURLY
from tests.each import rows

RATE = 40.0


def test_two_gpus_are_each_the_cheapest_under_some_assumption() -> None:
    """Recorded traffic, a spare: by what is waited for, and by the engine's error."""
    at_tpot = mlperf.error_at_tpot()
    real, ours = measured.rates_at(LEVEL.tpot_s)
    offs = margins.errors()
    assert offs == (max(measured.rate_error()), 0.0, at_tpot, ours / real - 1)
    first = {
        (waits, off): levers.rents(RATE, waits=waits, off=off)[0].device
        for waits in (True, False)
        for off in offs
    }
    assert {*first.values()} == {"h100-sxm", "b200-sxm"}
    assert (first[True, 0.0], first[False, 0.0]) == ("b200-sxm", "h100-sxm")
    assert (first[True, offs[0]], first[False, offs[0]]) == ("h100-sxm", "b200-sxm")
    assert {first[waits, off] for waits in (True, False) for off in offs[2:]} == {
        "h100-sxm"
    }
    for row, off in zip(rows(levers.ties(RATE)), offs, strict=True):
        for waits, head, bill in ((True, "GPU waits", "$/hour"),
                                  (False, "hidden", "so $/hour")):  # fmt: skip
            number, name = row[head].split()
            assert short(first[waits, off]) == name
            price = hourly(first[waits, off], by_hand.ONE_MONTH)
            assert float(row[bill]) == pytest.approx(int(number) * price)


def test_the_month_of_the_price_turns_the_choice() -> None:
    """Over all assumptions H100s win most at October's price, and not at November's."""
    wins = [
        Counter(
            levers.rents(RATE, waits=waits, off=off, prices=month)[0].device
            for waits in (True, False)
            for off in margins.errors()
        )
        for month in (by_hand.ONE_MONTH, HOURLY)
    ]
    assert wins == [
        {"h100-sxm": 6, "b200-sxm": 2},
        {"h100-sxm": 3, "b200-sxm": 3, "h200-sxm": 2},
    ]


def test_gpus_are_compared_at_prices_of_one_month() -> None:
    """Those of the A100, the dearest of all deployments, are a month younger."""
    dates = {
        key: price.source.split(", ")[-1]
        for key, price in by_hand.ONE_MONTH.items()
        if key != "a100-80-sxm"
    }
    assert len({*dates.values()}) == 1 and len(dates) == 3
    assert levers.rents(RATE, waits=True)[-1].device == "a100-80-sxm"


@pytest.mark.parametrize("spare", [0, 1])
@pytest.mark.parametrize("waits", [True, False])
def test_a_rent_is_the_fewest_gpus_that_carry_the_rate_and_the_spare(
    waits: bool, spare: int
) -> None:
    found = levers.rents(RATE, waits=waits, spare=spare)
    assert [each.usd for each in found] == sorted(each.usd for each in found)
    for each in found:
        bare = each.gpus - spare
        assert (bare - 1) * each.per_s < RATE <= bare * each.per_s
        assert each.usd == pytest.approx(
            each.gpus * hourly(each.device, by_hand.ONE_MONTH)
        )


def test_a_small_error_takes_an_h100_away_and_turns_the_choice() -> None:
    found = {each.device: each for each in levers.rents(RATE, waits=True)}
    six, first = found["h100-sxm"], levers.rents(RATE, waits=True)[0]
    turned = RATE / (six.gpus - 2)  # at this rate of each, one fewer is enough
    assert 1 < turned / six.per_s < 1.1
    one = hourly("h100-sxm", by_hand.ONE_MONTH)
    assert (six.gpus - 1) * one < first.usd < six.usd < 1.03 * first.usd
    assert six.gpus == margins.planned(six.per_s, 0.0).replicas  # the plan's
    hidden = levers.rents(RATE, waits=False)[0]
    assert hidden.usd == (six.gpus - 1) * one


@pytest.mark.parametrize("device", DEVICES)
def test_launches_that_are_hidden_never_lower_a_goodput(device: str) -> None:
    """By their part of a prompt's time, at most."""
    part = levers.stored("unwaited")[device] / by_hand.engine_rate(device)
    times = by_hand.times_of(device)
    launches_s = pool("llama-3.1-8b", device).cost.prompt_s
    whole_s = times.prompt_s + times.answer_s
    assert 1 < part < whole_s / (whole_s - launches_s) * 1.05


def test_what_is_stored_is_what_the_engine_finds() -> None:
    """Below the stored goodput nine in ten keep both targets, above it they do not."""
    for one, rate in (
        (levers.unwaited("h100-sxm"), levers.stored("unwaited")["h100-sxm"]),
        (levers.eight_bits(), levers.stored(levers.EIGHT)),
    ):
        found = sweep.crossing(one, between=(0.95 * rate, 1.05 * rate))
        assert found == pytest.approx(rate, rel=0.015)


@pytest.mark.parametrize("device", ["h100-sxm", "a100-80-sxm"])
def test_nine_in_ten_keep_a_tpot_above_the_mean(device: str) -> None:
    one, rate = pool("llama-3.1-8b", device), by_hand.engine_rate(device)
    report = served(LOADS[0], rate, one, seconds=600.0)
    ratio = LEVEL.kept(report).nearest_tpot_s / float(report.tpot_s.mean())
    assert ratio == pytest.approx(by_hand.over_mean(device), rel=0.03)


def test_what_is_cached_is_saved_at_most() -> None:
    """Half of a prompt saves at most half of its time."""
    times = by_hand.times_of("h100-sxm")
    whole_s = times.prompt_s + times.answer_s
    assert 1 < levers.cached_gain() < whole_s / (whole_s - times.prompt_s / 2) * 1.02
    assert levers.cached_gain(0.0) == pytest.approx(1.0)
