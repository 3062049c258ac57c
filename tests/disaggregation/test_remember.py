"""The five sentences that a reader keeps, each held in every state that is shown.

Found again by other means than those that print them: iterations of the engine, layers
that are sent one by one, requests that are served.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmserve_lab.catalog import LINKS, MODELS
from llmserve_lab.catalog.evidence import disaggregated as measured
from llmserve_lab.catalog.evidence.tiers import HOST_DRAM, NVME_SSD
from llmserve_lab.disaggregation import goodput
from llmserve_lab.disaggregation import worked_example as worked
from llmserve_lab.disaggregation.capacity_sim import carried
from llmserve_lab.disaggregation.kv_transfer_timeline import hand_over, late_s
from llmserve_lab.disaggregation.page.controls import BY_BANDWIDTH, FITS_ALL
from llmserve_lab.engine import (
    Continuous,
    Disaggregated,
    IterationLoad,
    Pool,
    Request,
    simulate,
)
from llmserve_lab.running_example import ANSWER, PROMPT, cost, model, share


def made(prompt: int) -> float:
    """Bytes of cache that a prefill leaves."""
    return prompt * cost().kv_bytes_per_token


@pytest.mark.parametrize("prompt", [int(each) for each in FITS_ALL])
def test_every_link_hides_all_but_a_layer_of_the_running_example(prompt: int) -> None:
    prefill_s = cost().seconds(IterationLoad.of(chunk=prompt))
    assert made(prompt) / prefill_s < 6e9
    for link in BY_BANDWIDTH:
        sent_s = made(prompt) / (float(link.bandwidth) * float(share().link))
        layers = hand_over(
            n_layers=model().n_layers,
            prefill_s=prefill_s,
            transfer_s=sent_s,
            streamed=True,
        )
        assert late_s(layers) == pytest.approx(sent_s / model().n_layers)


def test_a_model_without_shared_heads_falls_behind_on_hdr() -> None:
    shape = MODELS["llama-2-7b"]
    many = made(PROMPT) * shape.kv_bytes_per_token(2) / cost().kv_bytes_per_token
    prefill_s = cost().seconds(IterationLoad.of(chunk=PROMPT))  # nearly as large
    assert many / (float(LINKS["infiniband-hdr"].bandwidth) * float(share().link)) > (
        prefill_s
    )


def test_the_wire_is_the_small_part_of_the_measured_hop() -> None:
    wire, hop = float(measured.ON_THE_WIRE_S), float(measured.HANDOVER_S)
    assert float(measured.ORCHESTRATION_S) == pytest.approx(hop - wire)
    assert wire < 0.2 * hop


def test_prompts_stretch_the_gaps_of_a_shared_gpu() -> None:
    """Forty decodes without end, and 13.4 prompts a second, on one GPU."""
    steady = [
        Request(id=n, arrival_s=0.0, prompt_len=PROMPT, output_len=1200)
        for n in range(40)
    ]
    rush = [
        Request(id=40 + n, arrival_s=3.0 + n / 13.4, prompt_len=PROMPT, output_len=1)
        for n in range(80)
    ]
    pool = Pool(cost(), Continuous())
    log = simulate([*steady, *rush], pool, log=True, leap=False).log
    assert log is not None
    ends = [step.end_s for step in log if 4 < step.end_s < 8]
    mean_s = (ends[-1] - ends[0]) / (len(ends) - 1)
    calm = [step.seconds for step in log if 2 < step.end_s < 3]
    assert sum(calm) / len(calm) < 0.0115
    assert 1.4 < mean_s / (sum(calm) / len(calm)) < 1.65


def test_the_split_serves_more_under_a_strict_promise_and_less_under_a_loose() -> None:
    def per_s(way: str, limit_s: float, load: goodput.Demand) -> float:
        kind, hand = goodput.KINDS[0], goodput.HANDS[1]
        return goodput.best(load, way, kind=kind, limit_s=limit_s, hand=hand).per_s

    for load, times in zip(goodput.LOADS, (1.4, 1.5), strict=True):
        for other, least in ((goodput.WHOLE, times), (goodput.CHUNKS, 1.1)):
            strict = per_s(goodput.POOLS, 0.01, load) / per_s(other, 0.01, load)
            assert strict > least
    usual = goodput.LOADS[0]
    assert per_s(goodput.POOLS, 0.05, usual) < 0.95 * per_s(goodput.WHOLE, 0.05, usual)


@pytest.mark.long
def test_the_backlog_turns_with_the_promise_as_well() -> None:
    one, two = (carried(promise_s=0.01, shared=shared) for shared in (True, False))
    assert two > 1.2 * one
    split = {"n_prefill": 2, "n_decode": 2}
    one, two = (
        carried(promise_s=0.05, shared=shared, **split) for shared in (True, False)
    )
    assert two < 0.8 * one
    four = carried(promise_s=0.05, together=4, n_prefill=2, n_decode=2)
    assert 0.9 * one < four < 1.05 * one


@pytest.mark.long
def test_a_fair_race_ends_where_more_prompts_read_together_move_it() -> None:
    """As many prompts together on both sides: every case has a break-even."""
    whole = [worked.even_whole_s(float(k)) for k in (1, 2, 4)]
    fleet = [worked.even_fleet_s(float(k)) for k in (1, 2, 4)]
    assert whole == sorted(whole) and fleet == sorted(fleet)
    assert whole[0] > 0.015 and whole[-1] < 0.031
    assert fleet[0] > 0.034 and fleet[-1] < 0.06
    for k in (1.0, 2.0, 4.0):
        assert worked.fleet_advantage(0.1, k) < 1 < worked.fleet_advantage(0.015, k)


def test_without_orchestration_a_loose_promise_is_a_tie() -> None:
    kind, hand = goodput.KINDS[0], goodput.HANDS[0]
    one, two = (
        goodput.best(goodput.LOADS[0], way, kind=kind, limit_s=0.05, hand=hand).per_s
        for way in (goodput.WHOLE, goodput.POOLS)
    )
    assert two == pytest.approx(one, rel=0.02)


def test_an_ssd_is_slower_than_computing_and_memory_of_the_host_is_not() -> None:
    prefix = 40 * ANSWER
    computed_s = cost().seconds(IterationLoad.of(chunk=prefix))
    gains = [
        computed_s / (made(prefix) / (float(tier.bandwidth) * float(share().link)))
        for tier in (HOST_DRAM, NVME_SSD)
    ]
    assert gains[0] > 6 and 0.8 < gains[1] < 1
    assert 0.64 < float(share().link) / gains[1] < 0.66  # of its datasheet: even


def test_two_pools_serve_thirty_percent_more_up_to_twice_a_step() -> None:
    def gain(limit_s: float, hand: str, demand: goodput.Demand) -> float:
        one, two = (
            goodput.best(
                demand, way, kind=goodput.KINDS[0], limit_s=limit_s, hand=hand
            ).per_s
            for way in (goodput.WHOLE, goodput.POOLS)
        )
        return two / one

    usual, longer = goodput.LOADS
    for hand in goodput.HANDS:
        assert all(gain(at_s, hand, usual) > 1.295 for at_s in (0.01, 0.015, 0.02))
        assert 1.05 < gain(0.03, hand, usual) < 1.16
        assert gain(0.05, hand, usual) < 1.01
        assert gain(0.01, hand, longer) > 1.6
        assert gain(0.02, hand, longer) < 1.05
    assert gain(0.015, goodput.HANDS[1], longer) < 1.01


@pytest.mark.long
def test_reading_together_is_what_lifts_two_pools_over_the_formula() -> None:
    """With one prompt an iteration a rate above the formula's is kept for few."""
    demand, key = goodput.LOADS[0], (goodput.KINDS[0], 0.015)
    together = goodput.variants(goodput.POOLS, goodput.HANDS[0])["2P:2D"]
    assert isinstance(together, Disaggregated)
    alone = replace(
        together, prefill=replace(together.prefill, policy=Continuous(max_batch=1))
    )
    asked = goodput.asked(demand, 62.0)
    shares = [
        goodput.kept(simulate(asked, way), hop=False)[key] for way in (together, alone)
    ]
    assert shares[0] > goodput.ENOUGH > 0.5 > shares[1]
