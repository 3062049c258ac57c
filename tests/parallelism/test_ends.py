"""The ends of a pipeline, which have more than their layers, and what a tie is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmserve_lab.catalog.evidence.long_context import EXCHANGE_SHARE
from llmserve_lab.deepseek.calibration.link_efficiency import fit_transfers
from llmserve_lab.how_wrong import fairness
from llmserve_lab.parallelism import published
from llmserve_lab.parallelism.arguments import DEVICE, MODEL, fast_port, on
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.leads import MISS


def test_a_tie_is_as_wide_as_two_mean_errors_between_servers() -> None:
    """Of prompts that were measured over servers; inside a server they are smaller."""
    labels = {"model": "llama-3-70b", "engine": "vllm", "system": "h100-sxm"}
    assert (
        fairness.mean_of(**labels)
        < published.far_error()
        == pytest.approx(MISS, abs=0.01)
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
