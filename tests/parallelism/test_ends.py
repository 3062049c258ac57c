"""The ends of a pipeline, which have more than their layers, and what a tie is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmserve_lab import validation
from llmserve_lab.catalog.evidence.long_context import EXCHANGE_SHARE
from llmserve_lab.deepseek.calibration.link_efficiency import fit_transfers
from llmserve_lab.parallelism import published, staged
from llmserve_lab.parallelism.arguments import (
    DEVICE,
    MODEL,
    fast_link,
    fast_port,
    on,
    over,
)
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.leads import (
    CLOSE,
    PAIR,
    PIPELINE,
    PROMPT,
    SERVER_TOKEN,
    TWO_SERVERS,
    close,
    prompt_range,
    token_range,
)
from llmserve_lab.parallelism.page import stills


def test_the_ranges_are_those_of_the_measured_times() -> None:
    """Of each kind its own, least and most; the loads in which nothing waited."""
    assert published.served_range() == pytest.approx(SERVER_TOKEN, abs=0.005)
    near = published.nearest()
    assert len(near) == 3
    assert (min(near), max(near)) == pytest.approx(PROMPT, abs=0.005)
    ratios = staged.ratios()
    assert (min(ratios), max(ratios)) == pytest.approx(PIPELINE, abs=0.005)
    assert published.ring_range() == pytest.approx((1.08, 1.53), abs=0.005)
    two, _ = published.token_changes().values()
    assert two[1] / two[0] == pytest.approx(TWO_SERVERS, abs=0.005)
    rows = [
        row
        for row in validation.dense_rows()
        if (row.model, row.engine, row.system) == ("llama-3-70b", "vllm", "h100-sxm")
    ]
    waited = [row for row in rows if row.tp == 2 and float(row.ttft_s) > 6]
    assert len(published.served_ratios()) == len(rows) - len(waited) == 42
    assert {row.precision for row in rows} == {"fp8"}


def test_no_ring_of_the_picture_has_as_many_rows_as_a_measured_one() -> None:
    """So the order of ring and pipeline is open: the error grows as rows get fewer."""
    rings = sorted(
        (run.tokens // run.ranks, published.predict(run).error)
        for run in published.RUNS
        if run.ranks > 1 and run.printed == "128K"
    )
    assert all(error < 0 for _, error in rings)
    assert [error for _, error in rings] == sorted(error for _, error in rings)
    assert rings[0][0] + 192 >= 2 * stills.PROMPT / 2
    assert stills.first_ms(stills.RING) < stills.first_ms("TP 4 × PP 2")


def test_how_far_off_the_ratio_of_two_groups_was() -> None:
    """Each pair at one load, in a server; with two servers it is a fifth."""
    errors = validation.constants.record()["errors"]
    loads: dict[tuple[int, ...], list[float]] = {}
    for row, token, first in zip(
        validation.dense_rows(), errors["tpot"], errors["ttft"], strict=True
    ):
        here = (row.model, row.engine, row.system)
        if here == ("llama-3-70b", "vllm", "h100-sxm") and float(first) > -0.5:
            load = (row.prompt_len, row.output_len, row.clients)
            loads.setdefault(load, []).append(1 + float(token))
    assert sum(map(len, loads.values())) == 42
    most = max(max(each) / min(each) for each in loads.values())
    assert most == max(published.served_pairs()) == pytest.approx(PAIR, abs=5e-3)
    assert len(published.served_pairs()) == sum(
        len(each) * (len(each) - 1) // 2 for each in loads.values()
    )
    assert pytest.approx(CLOSE, abs=0.01) == PAIR * TWO_SERVERS
    near = published.nearest()
    assert max(near) / min(near) < PAIR


def test_times_less_than_a_fifth_apart_are_close() -> None:
    for other, found in ((12.1, False), (11.9, True), (8.4, True), (8.3, False)):
        assert close(10.0, other) is found


def test_a_time_may_be_longer_by_what_its_kind_was() -> None:
    server, both = (token_range(10.0, stills.layout(n)) for n in ("PP 8", "TP 8"))
    assert server.span == pytest.approx((10.2, 12.7))
    assert both.span == pytest.approx([1.06 * each for each in server.span])
    assert prompt_range(10.0).span == pytest.approx((10.6, 10.8))
    assert server.bare == both.bare == prompt_range(10.0).bare == 10.0


def test_a_faster_port_leaves_the_group_last_in_prefill() -> None:
    slow = stills.prefill_rate("TP 8")
    rate = replace(stills.layout("TP 8"), between=fast_link()).prefill_rate(2048)
    assert stills.numbers()["rate_faster"] == f"{rate / slow - 1:.0%}"
    assert slow < rate < 1.3 * slow
    assert all(
        stills.prefill_rate(name) > 1.3 * rate
        for name in stills.SHOWN
        if name != "TP 8"
    )
    port = fast_link()
    assert float(port.bandwidth) * float(over(port)["eff_link"]) == pytest.approx(
        float(fast_port()["link_bw"]) * float(EXCHANGE_SHARE)
    )


@pytest.mark.parametrize("stages", [2, 4, 8])
@pytest.mark.parametrize("requests", [8, 64])
def test_the_last_stage_has_the_head_on_top_of_its_layers(
    stages: int, requests: int
) -> None:
    """Read from memory, and half of its products, in every tick of all stages."""
    level = GpuLayout(tp=2, stages=stages)
    late_s = replace(level, level=False).decode(requests, 1000).token_s
    late_s -= level.decode(requests, 1000).token_s
    known, params = on(DEVICE), MODEL.vocab * MODEL.d_model
    read_s = 2 * params / float(known["hbm_bw"]) / float(known["eff_mem"])
    rate = float(known["peak_flops"]) * float(known["eff_compute"])
    hidden = 1 - level.cost().overlap
    more_s = read_s + hidden * 2 * params * (requests / stages) / rate
    assert late_s == pytest.approx(more_s / 2 * (1 - 1 / stages) * stages, rel=1e-3)
    assert replace(level, level=False).chunk_s(512) == level.chunk_s(512)


def test_the_faster_library_reaches_what_the_twin_was_fitted_with() -> None:
    assert float(EXCHANGE_SHARE) == pytest.approx(fit_transfers()[1], abs=5e-4)
    assert float(fast_port()["eff_link"]) == float(EXCHANGE_SHARE)


@pytest.mark.parametrize(("tp", "stages"), [(4, 2), (2, 4), (1, 8)])
def test_the_fullest_stage_leaves_the_least_room(tp: int, stages: int) -> None:
    """Every stage keeps as many tokens as the last one, beside its layers and head."""
    ends = MODEL.vocab * MODEL.d_model
    layers = (MODEL.params_total - 2 * ends) / stages
    space = tp * float(on(DEVICE)["hbm_bytes"]) - 2 * (layers + ends)
    tokens = space * stages / MODEL.kv_bytes_per_token(2)
    late = GpuLayout(tp=tp, stages=stages, level=False)
    assert late.held_tokens() == pytest.approx(tokens, rel=1e-4)
    even = replace(late, level=True).held_tokens()
    assert late.held_tokens() == pytest.approx(even, abs=2) if stages == 2 else even
    assert (late.held_tokens() < 0.995 * even) is (stages > 2)
    assert late.held_requests(1000) <= late.held_tokens() // 1000


@pytest.mark.parametrize("stages", [2, 4, 8])
def test_one_batch_alone_passes_the_head_once(stages: int) -> None:
    """Its round is the sum of all stages, however they are filled."""
    level = GpuLayout(tp=2, stages=stages)
    late = replace(level, level=False)
    alone, uneven = (each.decode(64, 1000, 1).token_s for each in (level, late))
    assert uneven == pytest.approx(alone)
