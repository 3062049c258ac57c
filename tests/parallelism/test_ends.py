"""The ends of a pipeline, which have more than their layers, and what a tie is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmserve_lab import validation
from llmserve_lab.catalog.evidence.long_context import EXCHANGE_SHARE
from llmserve_lab.deepseek.calibration.link_efficiency import fit_transfers
from llmserve_lab.parallelism import published
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
    GROUP_PROMPT,
    PROMPT_RATIO,
    RING_PROMPT,
    SERVER_TOKEN,
    TOKEN_RATIO,
    TWO_SERVERS,
    prompt_range,
    token_range,
)
from llmserve_lab.parallelism.page import stills


def test_the_ranges_are_those_of_the_measured_times() -> None:
    """Of each kind its own, least and most; the loads in which nothing waited."""
    assert published.served_range() == pytest.approx(SERVER_TOKEN, abs=0.005)
    assert published.read_range(ring=False) == pytest.approx(GROUP_PROMPT, abs=0.005)
    assert published.read_range(ring=True) == pytest.approx(RING_PROMPT, abs=0.005)
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
    """So its range is open at the long end: the error grows as rows get fewer."""
    rings = sorted(
        (run.tokens // run.ranks, published.predict(run).error)
        for run in published.RUNS
        if run.ranks > 1 and run.printed == "128K"
    )
    assert all(error < 0 for _, error in rings)
    assert [error for _, error in rings] == sorted(error for _, error in rings)
    assert rings[0][0] + 192 >= 2 * stills.PROMPT / 2


def test_how_far_off_the_ratio_of_two_groups_was() -> None:
    """Of tokens each pair at one load, in a server; of prompts any two of the three."""
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
    assert most == max(published.served_pairs()) == pytest.approx(TOKEN_RATIO, abs=5e-3)
    assert len(published.served_pairs()) == sum(
        len(each) * (len(each) - 1) // 2 for each in loads.values()
    )
    low, high = published.read_range(ring=False)
    assert high / low == pytest.approx(PROMPT_RATIO, abs=5e-3)


def test_of_two_kinds_one_leads_only_where_the_ranges_do_not_overlap() -> None:
    group, pipe = GpuLayout(tp=4), GpuLayout(tp=4, stages=2)
    short, long_ = prompt_range(10.0, group), prompt_range(12.5, pipe)
    assert short.leads(long_) and not long_.leads(short)
    assert not short.leads(prompt_range(12.3, pipe))
    assert not short.leads(prompt_range(10.0))
    server, both = (token_range(10.0, each) for each in (group, stills.layout("TP 8")))
    low, high = server.span
    assert both.span == pytest.approx((1.06 * low, 1.06 * high))
    for each in (short, server, both, prompt_range(10.0)):
        assert each.middle == pytest.approx(sum(each.span) / 2)


def test_two_of_a_kind_are_compared_by_the_model_s_ratio() -> None:
    """Their ranges overlap, and the error that they share is not counted twice."""
    two, four = GpuLayout(tp=2, replicas=4), GpuLayout(tp=4, replicas=2)
    for made, ratio in ((token_range, 1.14), (prompt_range, 1.24)):
        short = made(10.0, four)
        assert not short.leads(made(10.0 * (ratio - 0.01), two))
        assert short.leads(made(10.0 * (ratio + 0.01), two))
    assert token_range(10.0, four).span[1] > token_range(11.6, two).span[0]


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
