"""The ends of a pipeline, which have more than their layers, and what a tie is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmserve_lab.catalog.evidence.long_context import EXCHANGE_SHARE
from llmserve_lab.deepseek.calibration.link_efficiency import fit_transfers
from llmserve_lab.how_wrong import fairness
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
from llmserve_lab.parallelism.leads import GROUP_MISS, MISS, TIE, leads, span
from llmserve_lab.parallelism.page import stills
from tests.page import drawn

RATES = ("rate_fast", "rate_tp")


def test_a_tie_is_as_wide_as_two_mean_errors_between_servers() -> None:
    """Of prompts that were measured over servers; inside a server they are smaller."""
    assert pytest.approx(0.3, abs=0.001) == TIE
    labels = {"model": "llama-3-70b", "engine": "vllm", "system": "h100-sxm"}
    assert (
        fairness.mean_of(**labels)
        < published.far_error()
        == pytest.approx(MISS, abs=0.005)
    )


def test_a_group_over_servers_is_as_far_off_as_the_worst_that_was_measured() -> None:
    """A token over four servers; the layouts of the page span two."""
    ratios = [took / told for told, took in published.token_changes().values()]
    assert max(ratios) - 1 == pytest.approx(GROUP_MISS, abs=0.005)
    assert span(10.0, group=True) == pytest.approx((10 / 1.14, 14.4), rel=1e-3)


def test_one_leads_only_where_both_numbers_may_not_be_the_same() -> None:
    short, long_ = span(10.0), span(13.1)
    assert leads(short, long_) and not leads(long_, short)
    assert leads(long_, short, long_is_good=True)
    assert not leads(span(10.0), span(12.9)) and not leads(span(12.9), span(10.0))
    assert not leads(span(10.0, group=True), long_)


def test_nothing_else_is_best_or_tied_in_all_three_uses() -> None:
    """The title of the picture; pale is a bar that another leads."""
    strong = [
        {
            panel.get_yticklabels()[i].get_text()
            for i, bar in enumerate(panel.patches)
            if bar.get_alpha() is None
        }
        for panel in drawn.panels(stills.eight_gpus)
    ]
    assert all(strong) and set.intersection(*strong) == set()


def test_a_faster_port_leaves_the_group_last_in_prefill() -> None:
    rate, slow = (float(stills.numbers()[k].replace(",", "")) for k in RATES)
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
