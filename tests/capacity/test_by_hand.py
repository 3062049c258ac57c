"""The sum by hand against what fills a second, the plan and the engine."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.capacity import by_hand, datasheet, measured, plan, pools
from llmserve_lab.capacity.demand import ServerDemand
from llmserve_lab.capacity.deployment import hourly
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.trace import azure_hour, mean_lengths
from llmserve_lab.capacity.triangle import DEVICES, LEVEL
from llmserve_lab.continuous_batching import tuning
from llmserve_lab.continuous_batching.arrival_rates import REQUESTS
from llmserve_lab.continuous_batching.workloads import crowd
from llmserve_lab.engine import Chunked, IterationLoad, Pool, simulate

STEPS = running_example.ANSWER - 1


@pytest.mark.parametrize("tpot_s", [0.015, 0.02, 0.05])
@pytest.mark.parametrize("device", DEVICES)
def test_a_second_is_what_its_steps_take(device: str, tpot_s: float) -> None:
    """As many steps as gaps, and a prompt and an answer for each request."""
    one = by_hand.times_of(device)
    rate = one.rate(tpot_s)
    fixed_s = one.fixed_s / tpot_s  # launches and weights, once in each gap
    served_s = sum([one.prompt_s * rate, one.answer_s * rate])
    assert fixed_s + served_s == pytest.approx(1.0)


def test_a_gap_shorter_than_the_fixed_time_leaves_nothing() -> None:
    one = by_hand.times_of("h100-sxm")
    assert one.rate(one.fixed_s) == 0 and one.rate(one.fixed_s / 2) == 0
    assert one.rate(1e9) == pytest.approx(1 / (one.prompt_s + one.answer_s))
    rates = [one.rate(each) for each in (0.01, 0.02, 0.05, 0.1)]
    assert rates == sorted(rates) and rates[0] < rates[-1]


@pytest.mark.parametrize("device", DEVICES)
def test_times_are_those_of_steps_with_more_answers(device: str) -> None:
    """A step more or less full by an answer differs by that answer's part."""
    cost, one = pools.cost_of(device), by_hand.times_of(device)
    each = IterationLoad.of(chunk=1, context=1100)
    fewer, more = (cost.seconds(each.times(n)) for n in (39, 41))
    assert STEPS * (more - fewer) / 2 == pytest.approx(one.answer_s)
    assert cost.seconds(each.times(40)) == pytest.approx(
        one.fixed_s + 40 * one.answer_s / STEPS
    )


@pytest.mark.parametrize("device", DEVICES)
def test_the_plan_which_solves_for_the_batch_carries_nearly_as_much(
    device: str,
) -> None:
    asked = ServerDemand(
        prompt=1000, answer=200, ttft_s=1.0, tpot_s=LEVEL.tpot_s, gpus=1
    )
    gpu = catalog.accelerator(device)
    (group,) = plan.plan(running_example.model(), gpu, asked).groups
    assert group.best is not None
    hand = by_hand.times_of(device).rate(LEVEL.tpot_s)
    assert group.best.rate == pytest.approx(hand, rel=0.03)


@pytest.mark.parametrize("device", DEVICES)
def test_requests_under_way_are_those_of_the_plan(device: str) -> None:
    """It finds the batch by halving; here it is rate times time."""
    asked = ServerDemand(
        prompt=1000, answer=200, ttft_s=1.0, tpot_s=LEVEL.tpot_s, gpus=1
    )
    gpu = catalog.accelerator(device)
    (group,) = plan.plan(running_example.model(), gpu, asked).groups
    assert group.best is not None
    one = by_hand.times_of(device)
    assert one.under_way(LEVEL.tpot_s) == pytest.approx(group.best.batch, rel=0.03)
    assert by_hand.room(device) == group.fits > group.best.batch


@pytest.mark.parametrize("device", DEVICES)
def test_the_requests_that_fit_take_what_the_weights_leave(device: str) -> None:
    cost = pools.cost_of(device)
    left = 0.9 * cost.hbm_bytes - cost.weight_bytes
    entries = 39 * 128_256  # working space of a slot: bytes an entry of the vocabulary
    each = 1200 * cost.kv_bytes_per_token + entries
    free = left - by_hand.room(device) * each
    assert 0 < free < each + 0.2e9  # libraries, and less than one request more


@pytest.mark.parametrize("tpot_s", [0.02, 0.05])
@pytest.mark.parametrize("device", DEVICES)
def test_a_first_token_comes_within_two_steps_of_the_full_server(
    device: str, tpot_s: float
) -> None:
    cost, one = pools.cost_of(device), by_hand.times_of(device)
    load = IterationLoad.of(chunk=1, context=1100).times(int(one.under_way(tpot_s)))
    longest = cost.seconds(load.plus(IterationLoad.of(chunk=1000)))
    assert 2 * longest <= one.first_s(tpot_s) < 4 * longest


@pytest.mark.parametrize("device", DEVICES)
def test_two_factors_of_the_datasheets_give_the_times_of_another_gpu(
    device: str,
) -> None:
    """Priced by itself, that GPU takes just as long."""
    scaled, priced = datasheet.on(device), by_hand.times_of(device)
    for name in ("fixed_s", "prompt_s", "answer_s"):
        assert getattr(scaled, name) == pytest.approx(getattr(priced, name), rel=1e-9)


def test_the_parts_are_those_that_can_be_counted() -> None:
    """Rows and caches of a step by hand, half of the shorter time hidden."""
    cost = pools.cost_of("h100-sxm")
    fixed, prompt, answer = datasheet.parts()
    hidden_s = cost.weights_s / 2
    pairs_s = 1000 * 1001 / 2 * cost.pair_s
    assert fixed.arithmetic_s == pytest.approx(0, abs=1e-12)
    assert fixed.memory_s == pytest.approx(cost.weights_s)
    assert prompt.memory_s == pytest.approx(-hidden_s)
    # the rows of the 40 answers hide behind the weights no more
    assert prompt.arithmetic_s == pytest.approx(1020 * cost.row_s + pairs_s)
    assert answer.memory_s == pytest.approx(STEPS * 1100 * cost.kv_token_s)
    assert answer.cpu_s == pytest.approx(STEPS * cost.request_s)
    for part, name in zip((fixed, prompt, answer), datasheet.ROWS, strict=True):
        assert part.total_s > 0, name


def test_a_step_reads_all_weights_but_the_embedding_table() -> None:
    """Its bytes, over the time, are the share of the datasheet that servers reach."""
    gpu, model = catalog.accelerator("h100-sxm"), running_example.model()
    fixed, _, answer = datasheet.parts()
    reached = float(running_example.share().memory)
    per_s = datasheet.read_bytes() / fixed.memory_s
    assert per_s == pytest.approx(reached * float(gpu.hbm_bw))
    table = 2 * model.vocab * model.d_model
    cost = running_example.cost()
    assert datasheet.read_bytes() + table == pytest.approx(cost.weight_bytes)
    pairs_s = STEPS * 1100 * cost.pair_s  # attention, in kernels of its own
    half_s = STEPS * cost.row_s / 2  # the other half hides behind the reading
    assert answer.arithmetic_s - pairs_s == pytest.approx(half_s, rel=1e-3)


def test_the_rule_ends_where_a_step_of_answers_computes_for_longer_than_it_reads() -> (
    None
):
    """A memory 20 times as fast: arithmetic is no longer the part that hides."""
    cost = pools.cost_of("h100-sxm")
    quick = replace(
        cost, weights_s=cost.weights_s / 20, kv_token_s=cost.kv_token_s / 20
    )
    found = by_hand.priced("h100-sxm", quick)
    by_rule = [part.scaled((1.0, 1 / 20)) for part in datasheet.parts()]
    assert found.answer_s > 1.05 * by_rule[2]


def test_no_gpu_is_cheaper_in_the_engine_than_by_hand() -> None:
    """So the cheapest sum needs one run, if as many replicas do in the engine."""
    by_sum, by_engine = {}, {}
    for device in DEVICES:
        one = by_hand.times_of(device)
        found = by_hand.engine_rate(device)
        assert found < one.rate(LEVEL.tpot_s)
        by_sum[device] = one.replicas(40, LEVEL.tpot_s) * hourly(device)
        by_engine[device] = math.ceil(40 / found) * hourly(device)
    first = min(by_sum, key=by_sum.__getitem__)
    assert by_engine[first] == by_sum[first]
    assert first == min(by_engine, key=by_engine.__getitem__)
    assert sorted(by_sum, key=by_sum.__getitem__) == sorted(
        by_engine, key=by_engine.__getitem__
    )


def test_the_winner_at_the_central_estimate_loses_at_both_ends_of_the_error() -> None:
    """Whole GPUs: the least number that carries the rate, one fewer does not."""
    winners = {}
    for off in (*measured.rate_error(), 0.0):
        usd = {device: by_hand.rent(device, 40, off) for device in DEVICES}
        for device in DEVICES:
            each = by_hand.engine_rate(device) / (1 + off)
            gpus = round(usd[device] / hourly(device))
            assert (gpus - 1) * each < 40 * 1.01 and gpus * each > 40 * 0.99
        winners[off] = min(usd, key=usd.__getitem__)
    assert winners.pop(0.0) == "h100-sxm"
    assert {*winners.values()} == {"b200-sxm"}


def test_saturation_here_and_a_whole_run_differ_by_the_end_of_the_run() -> None:
    """Most of the difference is gone where the run is five times as long."""
    one = Pool(pools.cost_of("h100-sxm"), Chunked(2048, 256))
    gains = []
    for many in (REQUESTS, 5 * REQUESTS):
        run = simulate(crowd(per_s=1e6, num_requests=many), one)
        done_s = sorted(run.finished_s.tolist())
        middle = many / 2 / (done_s[3 * many // 4] - done_s[many // 4])
        gains.append(middle / run.requests_per_s - 1)
        assert middle == pytest.approx(21.5, rel=0.01)
    assert gains[0] == pytest.approx(tuning.steady_gain(2048, 256), abs=0.003)
    assert gains[1] < gains[0] / 2


def test_the_sum_is_too_high_for_recorded_traffic() -> None:
    """Its mean prompt and answer are longer; bursts and long prompts are left out."""
    prompt, answer = mean_lengths(azure_hour())
    usual, p90_s = by_hand.times_of("h100-sxm"), 0.02 / by_hand.over_mean("h100-sxm")
    each_s = usual.prompt_s * prompt / 1000 + usual.answer_s * answer / 200
    scaled = (1 - usual.fixed_s / p90_s) / each_s
    rate = by_hand.recorded_rate()
    assert rate == pytest.approx(scaled, rel=0.03)
    own = float(recorded()["hour"]["goodput_per_s"])
    assert 1.25 * own < rate < by_hand.p90_rate(usual)
    assert math.ceil(40 / rate) < math.ceil(40 / own)  # it would rent too few
