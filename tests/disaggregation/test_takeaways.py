"""What a reader should take away from the chapter, each sentence a test.

Served by the engine, replayed or sent layer by layer; the closed forms are not asked.
"""

from math import ceil
from typing import Any

import pytest

from llmserve_lab.catalog import LINKS, MODELS, PRECISIONS, accelerator
from llmserve_lab.catalog.evidence.tiers import TIERS
from llmserve_lab.disaggregation import capacity_sim
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.kv_transfer_timeline import hand_over, late_s
from llmserve_lab.disaggregation.topologies import CHUNKS, POOLS, WHOLE, example
from llmserve_lab.engine import (
    Continuous,
    Disaggregated,
    IterationCost,
    IterationLoad,
    Pool,
    Request,
    simulate,
)
from llmserve_lab.roofline.iteration_count import walk

H100 = accelerator("h100-sxm")
LLAMA_2, LLAMA_3 = MODELS["llama-2-7b"], MODELS["llama-3-8b"]
PROMPTS = (2048, 8192, 32_768)
APART: dict[str, Any] = {
    "new_tokens": 200,
    "tpot_target": 0.025,
    "overlap": 0.0,
    "overhead_s": 0.002,
}


def prefill(model_key: str, prompt_len: int) -> tuple[float, float]:
    """Seconds of a prefill, and bytes of the cache that it leaves; both walked."""
    model = MODELS[model_key]
    bill = walk(model, batch=1, context=0, chunk=prompt_len)
    peak = float(H100.peak("bf16"))
    reading_s = bill.weight_bytes / float(H100.hbm_bw)
    return max(bill.iteration_flops / peak, reading_s), bill.kv_write_bytes


def late(model_key: str, prompt_len: int, link: str) -> tuple[float, float]:
    """Delay of the second token by layers, and time of one layer on the wire."""
    prefill_s, made = prefill(model_key, prompt_len)
    n_layers = MODELS[model_key].n_layers
    transfer_s = made / float(LINKS[link].bandwidth)
    layers = hand_over(
        n_layers=n_layers, prefill_s=prefill_s, transfer_s=transfer_s, streamed=True
    )
    return late_s(layers), transfer_s / n_layers


@pytest.mark.parametrize("prompt_len", [2048, 4096, 8192])
def test_a_link_faster_than_the_cache_is_made_hides_all_but_one_layer(
    prompt_len: int,
) -> None:
    for key, link in (("llama-2-7b", "infiniband-ndr"), ("llama-3-8b", "pcie-gen4")):
        delay_s, layer_s = late(key, prompt_len, link)
        assert delay_s == pytest.approx(layer_s)
    delay_s, layer_s = late("llama-2-7b", prompt_len, "infiniband-hdr")
    assert delay_s > 5 * layer_s


def test_the_transfer_delays_the_second_token_and_not_the_first() -> None:
    cost = IterationCost.of(LLAMA_2, H100)
    pool = Pool(cost, Continuous())
    times = {}
    for key in ("nvlink4", "infiniband-hdr"):
        split = Disaggregated.over(
            LINKS[key], prefill=pool, decode=pool, link_latency_s=0.0
        )
        one = Request(arrival_s=0, prompt_len=4096, output_len=4, id=0)
        times[key] = simulate([one], split)
    fast, slow = times.values()
    assert fast.ttft_s[0] == slow.ttft_s[0]
    made = 4096 * LLAMA_2.kv_bytes_per_token(float(PRECISIONS["bf16"].bytes_kv))
    rates = (float(LINKS[key].bandwidth) for key in times)
    sent = [made / rate for rate in rates]
    gap = slow.worst_gap_s[0] - fast.worst_gap_s[0]
    assert gap == pytest.approx(sent[1] - sent[0], rel=1e-3)


@pytest.mark.parametrize("prompt_len", PROMPTS)
def test_a_slow_tier_is_not_worth_fetching_from(prompt_len: int) -> None:
    def fetch_pays(model_key: str, bandwidth: float) -> bool:
        prefill_s, made = prefill(model_key, prompt_len)
        return made / bandwidth < prefill_s

    hbm, dram, ssd = (float(tier.bandwidth) for tier in TIERS)
    assert fetch_pays("llama-2-7b", hbm) and fetch_pays("llama-2-7b", dram)
    assert not fetch_pays("llama-2-7b", ssd)
    if prompt_len > PROMPTS[0]:
        assert fetch_pays("llama-3-8b", ssd)


def test_two_pools_never_stall_and_whole_prompts_do() -> None:
    whole, chunks, pools = (example()[name] for name in (WHOLE, CHUNKS, POOLS))
    assert whole.percentile("tbt", 99) > 5 * pools.percentile("tbt", 99)
    assert whole.gaps.longest_s > 5 * pools.gaps.longest_s
    assert pools.percentile("tbt", 99) < chunks.percentile("tbt", 99)


def test_the_first_token_comes_later_from_fewer_prefill_gpus() -> None:
    whole, chunks, pools = (example()[name] for name in (WHOLE, CHUNKS, POOLS))
    for shared in (whole, chunks):
        assert pools.percentile("ttft", 99) > 1.2 * shared.percentile("ttft", 99)
        assert pools.ttft_s.mean() > shared.ttft_s.mean()


@pytest.mark.parametrize("prompt_len", [8192, 32_768])
def test_under_a_roofline_one_engine_carries_more(prompt_len: int) -> None:
    one, two = (
        capacity_sim.carried(
            n_prefill=1,
            n_decode=1,
            prompt_len=prompt_len,
            new_tokens=200,
            tpot_target=0.025,
            shared=shared,
        )
        for shared in (True, False)
    )
    assert one > 1.5 * two


def test_rows_that_ride_along_make_a_decode_step_no_longer() -> None:
    cost = IterationCost.of(LLAMA_2, H100)
    alone = IterationLoad(rows=32, pairs=32 * 1025, kv_tokens=32 * 1024)
    rows = cost.chunk_within(cost.seconds(alone), load=alone, context=0)
    assert 500 < rows < 700
    carrying = alone.plus(IterationLoad.of(chunk=rows))
    assert cost.seconds(carrying) == cost.seconds(alone)


def test_without_overlap_long_prompts_want_two_pools_and_short_ones_do_not() -> None:
    """The rates themselves are counted in ``counts_rates.py``, at every overlap."""
    known = capacity_sim.sizes(n_prefill=4, n_decode=4, **APART)

    def gain(prompt_len: int, overlap: float) -> float:
        size = known | {"prompt_len": prompt_len, "overlap": overlap}
        return float(f.BEST_POOLS_RATE.at(size) / f.SHARED_RATE.at(size))

    assert gain(128, 0) < 0.8 < 1.1 < gain(8192, 0) < gain(65_536, 0)
    assert all(gain(prompt_len, 1) < 1 for prompt_len in (128, *PROMPTS))
    (row,) = capacity_sim.rates_table(8192, n_prefill=3, n_decode=2, **APART).rows
    one, two = (float(str(row[place])) for place in (2, 4))  # simulated
    assert two > 1.1 * one


def test_at_low_load_whole_gpus_make_the_split_dear() -> None:
    """Where the split saves GPU time, it saves GPUs only once the load fills many."""
    size = capacity_sim.sizes(prompt_len=16_384, **APART)
    one_s = float(f.SHARED_GPU_S.at(size))
    prefill_s, decode_s = (
        float(each.at(size)) for each in (f.PREFILL_GPU_S, f.DECODE_GPU_S)
    )
    assert prefill_s + decode_s < 0.9 * one_s

    def gpus(busy: float) -> tuple[int, int]:
        """Whole ones: with an engine on each, and in two pools."""
        rate = busy / one_s
        return ceil(busy), ceil(rate * prefill_s) + ceil(rate * decode_s)

    assert gpus(0.5) == (1, 2)
    few = [gpus(busy) for busy in (1.2, 1.5, 1.9, 2.5)]
    assert all(two >= one for one, two in few)
    many = [gpus(busy) for busy in (20.5, 30.5, 60.5)]
    assert all(two < one for one, two in many)


def test_the_best_split_depends_on_lengths_and_not_on_the_rate() -> None:
    """Of eight GPUs, the number that prefill when a backlog is served fastest."""

    def best(prompt_len: int, new_tokens: int) -> int:
        rates = {
            x: capacity_sim.carried(
                n_prefill=x,
                n_decode=8 - x,
                prompt_len=prompt_len,
                new_tokens=new_tokens,
                tpot_target=0.015,
            )
            for x in (3, 4, 5, 6)
        }
        return max(rates, key=lambda x: rates[x])

    assert best(8192, 200) == 5
    assert best(8192, 400) < 5
    size = {"new_tokens": 200, "prompt_len": 8192, "tpot_target": 0.015}
    ratio = f.POOL_RATIO.at(capacity_sim.sizes(overhead_s=0), size)
    assert 3 / 5 * 0.7 < ratio < 3 / 5 * 1.3
    assert "arrival_rate" not in {leaf.name for leaf in f.POOL_RATIO.arguments}
