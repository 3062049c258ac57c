"""The five sentences that a reader keeps, each held in every state that is shown."""

import pytest

from llmserve_lab.capacity import (
    at_goodput,
    day,
    followed,
    measured,
    mlperf,
    runs,
    tables,
)
from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.triangle import (
    DEVICES,
    LEVEL,
    LOADS,
    MODELS,
    TPOTS_S,
    TTFTS_S,
    MeanLengths,
    goodput,
    points,
    rate_in_pace,
    rate_in_time,
)
from llmserve_lab.catalog.data.prices import HOURLY

EVERY = [(m, d, load) for m in MODELS for d in DEVICES for load in LOADS]
FLIGHT = "requests in flight, 35 a replica"
RATE = goodput(points(), LEVEL.ttft_s, LEVEL.tpot_s)


def test_a_busy_h100_serves_a_million_requests_for_eighty_dollars() -> None:
    price = float(HOURLY["h100-sxm"])
    full, poor = (
        float(f.BUSY_COST(price=price, replica_rate=rate)) for rate in (RATE, RATE / 2)
    )
    assert 75 < full < 85 and poor == pytest.approx(2 * full)


@pytest.mark.parametrize("where", EVERY, ids=str)
def test_beyond_the_knee_hardly_anything_is_in_time(
    where: tuple[str, str, MeanLengths],
) -> None:
    """Whatever the targets: at half as much again as saturation few keep both."""
    found = points(*where)
    for i, _ in enumerate(TTFTS_S):
        for j, _ in enumerate(TPOTS_S):
            shares = [each.kept[i][j] for each in found]
            assert shares[-1] <= shares[0] + 0.02
    throughput = [each.tokens_per_s for each in found]
    assert throughput == sorted(throughput)


@pytest.mark.parametrize("where", EVERY, ids=str)
def test_the_goodput_is_at_most_what_each_target_allows(
    where: tuple[str, str, MeanLengths],
) -> None:
    found = points(*where)
    for first in TTFTS_S:
        for each in TPOTS_S:
            rate = goodput(found, first, each)
            alone = (read(found, first, each) for read in (rate_in_time, rate_in_pace))
            assert rate <= min(alone) * (1 + 1e-12)  # a quotient of logarithms


@pytest.mark.parametrize("where", EVERY, ids=str)
def test_looser_targets_never_lower_the_goodput(
    where: tuple[str, str, MeanLengths],
) -> None:
    found = points(*where)
    for first in TTFTS_S:
        rates = [goodput(found, first, each) for each in TPOTS_S]
        assert rates == sorted(rates)
    for each in TPOTS_S:
        rates = [goodput(found, first, each) for first in TTFTS_S]
        assert rates == sorted(rates)


@pytest.mark.long
def test_input_costs_the_same_and_output_falls_with_the_load() -> None:
    asked, told, _ = zip(
        *(tables.token_costs(rate) for rate in tables.rates()), strict=True
    )
    assert max(asked) / min(asked) < 1.15
    assert list(told) == sorted(told, reverse=True) and told[0] > 8 * told[-1]


def test_past_the_knee_all_are_answered_and_a_fifth_is_in_time() -> None:
    """The replica keeps up with that rate: the number in flight stays finite."""
    past = at_goodput.loaded()[-1]
    assert RATE < past.per_s < 0.85 * at_goodput.full().per_s
    assert 0.1 < past.kept < 0.3


def test_replicas_for_the_peak_are_used_to_about_a_half() -> None:
    """At the goodput of recorded traffic, which is below that of even arrivals."""
    rate = float(recorded()["hour"]["goodput_per_s"])
    needed = day.replicas(day.hourly_rates(), rate)
    mean = sum(day.rate(hour + 0.5) for hour in range(24)) / 24
    used = f.USED_SHARE(mean_rate=mean, n_replicas=max(needed), replica_rate=rate)
    assert rate < RATE and 0.45 < float(used) < 0.55
    assert all(n * rate >= day.rate(h) for h, n in enumerate(needed))


def test_a_stricter_share_never_raises_the_goodput() -> None:
    rates = [goodput(points(), 0.5, 0.02, share) for share in (0.9, 0.95, 0.99)]
    assert rates == sorted(rates, reverse=True) and rates[0] > rates[-1] > 0


def test_in_a_burst_a_slow_start_breaks_the_promise_under_each_signal() -> None:
    """At the targets shown; what always stands keeps it and costs more in a day."""
    slow = [runs.scaled_run(name) for name in runs.TARGETS]
    fast = [runs.scaled_run(name, runs.FAST_S).kept for name in runs.TARGETS]
    assert max(each.kept for each in slow) < LEVEL.share - 0.05 < 0.98 < max(fast)
    assert runs.scaled_run("KV cache in use, 80%").kept < 0.1
    best = max(slow, key=lambda each: each.kept)
    stand = runs.scaled_run("none: 3 from the start")
    assert stand.kept > 0.97 and stand.gpu_h < best.gpu_h  # in the half hour alone
    in_a_day = [followed.day_with_burst_h(each) for each in (stand, best)]
    assert in_a_day[0] == 72 and 2.5 < in_a_day[0] / in_a_day[1] < 3
    assert best.added() > 0 and best.kept == runs.scaled_run(FLIGHT).kept


def test_on_a_smooth_day_the_slow_start_makes_few_late_at_less_cost() -> None:
    (_, peak_h), (_, spared_h), (late, paid_h) = followed.outcomes()
    assert late < 0.05 and paid_h < 0.85 * peak_h < 0.85 * spared_h


def test_servers_measured_at_a_tpot_were_faster_than_the_engine() -> None:
    real, ours = measured.rates_at(LEVEL.tpot_s)
    assert mlperf.error_at_tpot() < -0.1 and ours < 0.85 * real
    assert max(measured.rate_error()) > 0.1  # with a fixed number of clients
