"""What goes from pool to pool, how long that takes, and what need not go at all."""

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    Disaggregated,
    IterationCost,
    Pool,
    PrefixStore,
    Request,
    Static,
    simulate,
)
from tests.engine.test_policies import COST, ROOM, request


def transfer_s(*, streamed: bool, link: str, chunk: int = 4_096) -> float:
    deployment = Disaggregated.over(
        catalog.link(link),
        prefill=Pool(COST, Chunked(chunk), kv_blocks=ROOM),
        decode=Pool(COST, Continuous(), kv_blocks=ROOM),
        streamed=streamed,
    )
    report = simulate([request(0, 0.0, 4_096, 5)], deployment)
    return float(report.transfer_s[0])


def test_a_whole_cache_takes_its_bytes_over_the_link() -> None:
    link = catalog.link("infiniband-ndr")
    wanted_s = 4_096 * COST.kv_bytes_per_token / float(link.bandwidth)
    latency_s = float(link.latency or 0)
    assert transfer_s(streamed=False, link=link.key) == pytest.approx(
        wanted_s + latency_s, rel=1e-12
    )


def test_every_gpu_of_a_replica_sends_its_share() -> None:
    link = catalog.link("nvlink4")
    two = IterationCost.of(
        catalog.model("llama-2-7b"), catalog.accelerator("h100-sxm"), tp=2, link=link
    )
    pool = Pool(two, Continuous())
    both = Disaggregated.over(link, prefill=pool, decode=pool, eff_link=0.5)
    assert both.bytes_per_s == float(link.bandwidth)


def test_streamed_layer_by_layer_only_the_last_layer_is_waited_for() -> None:
    link = catalog.link("infiniband-ndr")  # faster than the prefill makes the cache
    latency_s = float(link.latency or 0)
    whole_s = transfer_s(streamed=False, link=link.key) - latency_s
    streamed_s = transfer_s(streamed=True, link=link.key) - latency_s
    assert streamed_s == pytest.approx(whole_s / COST.n_layers, rel=1e-9)


def test_a_slow_link_cannot_be_hidden() -> None:
    slow = Disaggregated(
        prefill=Pool(COST, Continuous(), kv_blocks=ROOM),
        decode=Pool(COST, Continuous(), kv_blocks=ROOM),
        bytes_per_s=1e9,
        streamed=True,
    )
    report = simulate([request(0, 0.0, 4_096, 5)], slow)
    whole_s = 4_096 * COST.kv_bytes_per_token / 1e9
    prefill_s = report.ttft_s[0]
    expected_s = whole_s - prefill_s * (1 - 1 / COST.n_layers)
    assert report.transfer_s[0] == pytest.approx(expected_s, rel=1e-9)


def test_a_prefix_that_is_held_is_neither_computed_nor_sent() -> None:
    names = tuple(range(8))
    first = Request(
        arrival_s=0, prompt_len=4_096, output_len=2, id=0, prefix=(*names[:7], 99)
    )
    second = Request(arrival_s=9, prompt_len=4_096, output_len=2, id=1, prefix=names)
    store = PrefixStore(capacity_tokens=10_000)
    deployment = Disaggregated(
        prefill=Pool(COST, Continuous(), kv_blocks=ROOM, prefixes=store),
        decode=Pool(COST, Continuous(), kv_blocks=ROOM),
        bytes_per_s=1e10,
    )
    report = simulate([first, second], deployment)
    assert list(report.hit_tokens) == [0, 7 * 512]
    sent = report.transfer_s * 1e10 / COST.kv_bytes_per_token
    np.testing.assert_allclose(sent, [4_096, 512])
    assert report.ttft_s[1] < report.ttft_s[0] / 5


def test_what_was_not_used_for_longest_makes_room() -> None:
    def asked(number: int, *prefix: int) -> Request:
        return Request(
            arrival_s=number, prompt_len=11, output_len=1, id=number, prefix=prefix
        )

    store = PrefixStore(capacity_tokens=30, block_tokens=10)
    prompts = [asked(0, 1), asked(1, 2), asked(2, 3), asked(3, 1), asked(4, 4)]
    again = [asked(5, 1), asked(6, 2)]  # 2 had to go when 4 came
    cost = IterationCost(row_s=1e-3)
    pool = Pool(cost, Continuous(), kv_blocks=10, prefixes=store)
    report = simulate([*prompts, *again], pool)
    assert list(report.hit_tokens) == [0, 0, 0, 10, 0, 10, 0]


def test_a_whole_prompt_in_the_store_still_runs_one_token() -> None:
    store = PrefixStore(capacity_tokens=100, block_tokens=10)
    requests = [
        Request(arrival_s=number, prompt_len=20, output_len=1, id=number, prefix=(1, 2))
        for number in range(2)
    ]
    cost = IterationCost(row_s=1e-3)
    report = simulate(requests, Pool(cost, Continuous(), kv_blocks=10, prefixes=store))
    np.testing.assert_allclose(report.ttft_s, [20e-3, 1e-3])


def test_a_prefill_pool_needs_room_for_prompts_alone() -> None:
    deployment = Disaggregated(
        prefill=Pool(COST, Continuous(), kv_blocks=4),
        decode=Pool(COST, Continuous(), kv_blocks=40),
    )
    report = simulate([request(0, 0.0, 64, 500)], deployment)
    assert report.num_requests == 1
    assert report.pools["prefill"].kv_peak == 1
    with pytest.raises(ValueError, match="request 0 must fit into the 4 blocks"):
        simulate([request(0, 0.0, 65, 500)], deployment)


def test_what_cannot_be_deployed_is_refused() -> None:
    pool = Pool(COST, Continuous())
    with pytest.raises(ValueError, match="iteration by iteration"):
        Disaggregated(prefill=pool, decode=Pool(COST, Static()))
    with pytest.raises(ValueError, match="bytes_per_s must be positive, got 0"):
        Disaggregated(prefill=pool, decode=pool, bytes_per_s=0)
    with pytest.raises(ValueError, match="latency_s must be finite and at least 0"):
        Disaggregated(prefill=pool, decode=pool, latency_s=-1)
