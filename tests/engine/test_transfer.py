"""What goes from pool to pool, how long that takes, and what need not go at all."""

import pytest

from llmserve_lab import catalog
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    Disaggregated,
    IterationCost,
    Pool,
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
        link_latency_s=None if catalog.link(link).latency else 0.0,
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


def test_the_peak_counts_blocks_that_are_given_back_within_an_iteration() -> None:
    """By hand: the second prompt starts while the first is sent, and ends after it."""
    deployment = Disaggregated(
        prefill=Pool(COST, Continuous(), kv_blocks=16),
        decode=Pool(COST, Continuous(), kv_blocks=40),
        latency_s=1e-6,
    )
    requests = [request(0, 0.0, 64, 5), request(1, 0.0001, 64, 5)]
    report = simulate(requests, deployment, leap=False, log=True)
    assert report.log is not None
    assert [step.used_blocks for step in report.log.frames("prefill")] == [4, 4]
    assert report.pools["prefill"].kv_peak == 8 / 16


def test_what_cannot_be_deployed_is_refused() -> None:
    pool = Pool(COST, Continuous())
    with pytest.raises(ValueError, match="iteration by iteration"):
        Disaggregated(prefill=pool, decode=Pool(COST, Static()))
    with pytest.raises(ValueError, match="bytes_per_s must be positive, got 0"):
        Disaggregated(prefill=pool, decode=pool, bytes_per_s=0)
    with pytest.raises(ValueError, match="latency_s must be finite and at least 0"):
        Disaggregated(prefill=pool, decode=pool, latency_s=-1)
    with pytest.raises(ValueError, match=r"eff_link must be in \(0, 1\], got 2"):
        Disaggregated.over(
            catalog.link("nvlink4"), prefill=pool, decode=pool, eff_link=2
        )
    with pytest.raises(ValueError, match="link_latency_s must be given for PCIe Gen5"):
        Disaggregated.over(catalog.link("pcie-gen5"), prefill=pool, decode=pool)
    slow = Disaggregated.over(
        catalog.link("pcie-gen5"), prefill=pool, decode=pool, link_latency_s=1e-3
    )
    assert slow.latency_s == 1e-3
    with pytest.raises(TypeError, match="link must be of type Link, got 'nvlink4'"):
        Disaggregated.over("nvlink4", prefill=pool, decode=pool)  # type: ignore
    with pytest.raises(TypeError, match="prefill must be of type Pool, got Iteration"):
        Disaggregated(prefill=COST, decode=pool)  # type: ignore[arg-type]
