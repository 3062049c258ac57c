"""Money is conserved: what is charged is what is paid for, to the last second."""

import random
from functools import cache

import pytest

from llmserve_lab import running_example
from llmserve_lab.capacity import (
    datasheet,
    measured,
    pools,
    runs,
    sweep,
    tables,
    triangle,
)
from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity.charging import charged, split
from llmserve_lab.capacity.deployment import Candidate, hourly, not_below_zero
from llmserve_lab.capacity.page import one_step
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.trace import azure_hour, mean_lengths
from llmserve_lab.capacity.triangle import LEVEL, LOADS, pool
from llmserve_lab.catalog.data.prices import API_PRICES, HOURLY
from llmserve_lab.disaggregation.goodput import rate_kept
from llmserve_lab.engine import (
    Chunked,
    IterationCost,
    IterationLoad,
    Pool,
    Request,
    simulate,
)
from llmserve_lab.formula.band import Band


@cache
def one() -> Pool:
    return pool("llama-3.1-8b", "h100-sxm")


@pytest.mark.parametrize("rate", [0.5, 4.0, 12.0])
def test_prompts_answers_and_idleness_fill_the_time(rate: float) -> None:
    requests = pools.asked(LOADS[0], rate, 10.0)
    found = split(requests, one())
    report = simulate(requests, one())
    busy_s = report.pools["pool"].busy_s
    assert found.prompts_s + found.answers_s == pytest.approx(busy_s, rel=1e-9)
    assert found.elapsed_s == pytest.approx(report.elapsed_s, rel=1e-9)
    assert found.prompts_s > 0 and found.answers_s > 0 and found.idle_s >= 0


@pytest.mark.parametrize("seed", range(4))
def test_the_dollars_of_tokens_are_the_dollars_of_the_gpu(seed: int) -> None:
    """Input and output tokens at their costs are the rent of the busy time."""
    rng = random.Random(seed)
    requests = pools.asked(LOADS[0], rng.uniform(1, 12), 8.0)
    found, number = split(requests, one()), len(requests)
    prompt, answer = mean_lengths(requests)
    asked = f.INPUT_COST(
        price=3.0, prompt_gpu_s=found.prompts_s / number, prompt_len=prompt
    )
    told = f.OUTPUT_COST(
        price=3.0, answer_gpu_s=found.answers_s / number, new_tokens=answer
    )
    bill = (float(asked) * prompt + float(told) * answer) * number / 1e6
    assert bill == pytest.approx(3.0 / 3600 * (found.elapsed_s - found.idle_s))


@pytest.mark.long
def test_tokens_at_their_costs_are_a_request_at_its_cost() -> None:
    """1,000 in and 200 out cost what a request costs, the idle share aside."""
    for rate in tables.rates():
        asked, told, idle = tables.token_costs(rate)
        price = float(HOURLY["h100-sxm"])
        whole = float(f.BUSY_COST(price=price, replica_rate=rate))
        assert 1000 * asked + 200 * told == pytest.approx((1 - idle) * whole)


def test_the_cache_is_about_a_tenth_full_at_the_goodput() -> None:
    report = simulate(pools.asked(LOADS[0], 13.8, 30.0), one())
    use = report.pools["pool"]
    mean = use.kv_token_s / (use.kv_tokens * use.elapsed_s)
    assert 0.07 < mean < 0.14


def test_a_prompt_alone_is_charged_all_of_its_iteration() -> None:
    cost = IterationCost(row_s=1e-5, weights_s=5e-3)
    lone = [Request(arrival_s=1.0, prompt_len=100, output_len=1, id=0)]
    found = split(lone, Pool(cost, Chunked(512), kv_blocks=100))
    alone_s = cost.seconds(IterationLoad.of(chunk=100))
    assert found.prompts_s == pytest.approx(alone_s)
    assert found.answers_s == 0 and found.idle_s == pytest.approx(1.0)
    assert charged([], cost).elapsed_s == 0


def test_a_price_below_zero_is_refused() -> None:
    for wrong in (-0.01, float("nan")):
        with pytest.raises(
            ValueError, match="price must be at least 0 dollars an hour"
        ):
            not_below_zero(wrong)
    with pytest.raises(ValueError, match=r"got -3\.0"):
        Candidate("h100-sxm", 2, 1, 512).dollars_per_hour({"h100-sxm": -3.0})
    with pytest.raises(KeyError, match="prices must name l40s"):
        hourly("l40s")


def test_every_price_is_cited_with_its_day() -> None:
    for price in HOURLY.values():
        assert price.unit == "dollar/hour" and "2026" in price.source and price.url


def test_a_mix_costs_the_sum_of_its_gpus() -> None:
    for mix in pools.MIXES:
        gpus = [mix.prefill] * mix.n_prefill + [mix.decode] * mix.n_decode
        assert mix.dollars_per_hour == pytest.approx(sum(map(hourly, gpus)))


@pytest.mark.long
def test_a_step_at_night_serves_more_than_one_answer() -> None:
    """By Little's law: answers under way, over the share of the time that is busy."""
    found = tables.charged_at(1.0)
    step_s = found.answers_s / found.steps
    alone_s = one().cost.seconds(IterationLoad.of(chunk=1, context=1100))
    assert step_s == pytest.approx(alone_s, rel=0.1)
    under_way = found.tokens * step_s / found.elapsed_s
    busy = 1 - found.idle_s / found.elapsed_s
    assert found.answers_a_step == pytest.approx(under_way / busy, rel=0.15)
    assert (
        1.7 < found.answers_a_step < 2.4 < 30 < tables.charged_at(13.8).answers_a_step
    )


def test_the_hour_is_shorter_than_an_hour() -> None:
    """What a million requests cost at its rate is its rent over its requests."""
    hour = azure_hour()
    seconds = hour[-1].arrival_s
    by_rate = float(f.BUSY_COST(price=27.16, replica_rate=len(hour) / seconds))
    assert by_rate == pytest.approx(27.16 * seconds / 3600 / len(hour) * 1e6)
    assert seconds < 0.98 * 3600


def test_the_span_of_the_goodput_holds_its_own_check() -> None:
    """At the page's TPOT a row was measured: it lies within what the page says."""
    low, high = measured.rate_error()
    for row in measured.beside():
        assert low <= row.measured_usd / row.usd - 1 <= high
    real, ours = measured.rates_at(0.02)
    assert ours / (1 + high) <= real <= ours / (1 + low) * (1 + 1e-12)


def test_the_runs_with_fixed_clients_are_those_that_the_page_names() -> None:
    """And the larger error of them is the page's, not that at a given TPOT."""
    errors = running_example.band("tokens_per_s", clients=64)
    assert isinstance(errors, Band) and errors.n == 60
    for words in ("llama-3-8b/qwen3-32b", "sglang/trtllm", "h100-sxm"):
        assert words in errors.regime
    assert errors.high == max(measured.rate_error()) and -0.18 < errors.low < -0.16


def test_an_h100_of_one_s_own_breaks_even_with_a_list_of_prices() -> None:
    """Below that rate its rent is more than the list asks for the same requests."""
    asked, told = map(float, API_PRICES["GPT-4o mini"])
    listed = 1e6 * (1000 * asked + 200 * told)
    price = float(HOURLY["h100-sxm"])
    less, more = (
        float(f.BUSY_COST(price=price, replica_rate=rate)) for rate in (4.05, 4.15)
    )
    assert more < listed < less and listed == pytest.approx(270)


def test_the_planned_rate_is_one_that_the_worst_error_leaves() -> None:
    """Off by the worst error, the planned rate is the simulated one again."""
    low, high = measured.rate_error()
    for off in (low, high):
        left = measured.real(9.42, off)
        assert left + off * left == pytest.approx(9.42, rel=0.005)
    assert measured.real(9.42, high) < 9.42 < measured.real(9.42, low)


def test_another_draw_crosses_at_nearly_the_same_rate() -> None:
    """Nine in ten are in time a little below the rate found, and not above it."""
    found = triangle.goodput(triangle.points(), LEVEL.ttft_s, LEVEL.tpot_s)
    rate = sweep.crossing(one(), between=(0.9 * found, 1.1 * found), seed=3)
    assert rate == pytest.approx(found, rel=0.04)
    assert rate == pytest.approx(recorded()["draws"][sweep.DRAWS.index(3)], rel=0.01)
    kept, late = (
        LEVEL.kept(
            triangle.served(LOADS[0], times * rate, one(), seconds=sweep.LONG_S, seed=3)
        ).both
        for times in (0.97, 1.03)
    )
    assert kept >= 0.9 > late


@pytest.mark.parametrize("device", triangle.DEVICES)
def test_the_goodput_is_one_number_by_shares_and_by_times(device: str) -> None:
    """Where the share in time falls to nine in ten, and where their TPOT is reached."""
    found = triangle.points(device=device)
    for level in (LEVEL, triangle.RELAXED):
        i, j = (
            triangle.TTFTS_S.index(level.ttft_s),
            triangle.TPOTS_S.index(level.tpot_s),
        )
        by_share = rate_kept([e.per_s for e in found], [e.kept[i][j] for e in found])
        by_time = triangle.goodput(found, level.ttft_s, level.tpot_s)
        assert by_time == pytest.approx(by_share, rel=0.01)


def test_a_point_says_the_same_by_its_share_and_by_its_time() -> None:
    report = triangle.served(LOADS[0], 13.0, one())
    for ttft_s, tpot_s in ((0.5, 0.02), (0.06, 0.1), (0.5, 0.015)):
        share = report.slo_attainment(ttft_s=ttft_s, tpot_s=tpot_s)
        assert (sweep.over(report, ttft_s, tpot_s) <= 1) == (share >= 0.9)


@pytest.mark.long
def test_one_replica_less_than_the_peak_takes_misses_the_promise() -> None:
    """Behind one router, too; a single one at the hour's own rate keeps it."""
    assert runs.kept_of_the_hour(40.0, replicas=4) < 0.9
    assert runs.kept_of_the_hour(9.4, replicas=1) >= 0.89


def test_of_an_answers_time_half_is_weights_and_a_fifth_the_cpu() -> None:
    """As the step is drawn: its first parts are shared, the last is the answers'."""
    weights, cpu, own = (each.seconds for each in one_step.stretches()[:3])
    whole = weights + cpu + own
    assert 0.45 < weights / whole < 0.55 and 0.18 < cpu / whole < 0.25
    answer = datasheet.parts()[2]
    assert answer.memory_s > (answer.arithmetic_s + answer.cpu_s)
