"""The plan of a mixture of experts, in four bits where nothing computes in four."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmserve_lab import catalog
from llmserve_lab.capacity.demand import ServerDemand
from llmserve_lab.capacity.plan import plan
from llmserve_lab.capacity.plan_text import text
from llmserve_lab.formula.band import Band

H100, GPT = catalog.accelerator("h100-sxm"), catalog.model("gpt-oss-120b")
USUAL = ServerDemand(prompt=1000, answer=200, ttft_s=1.0, tpot_s=0.015)


def test_the_checkpoint_fits_and_a_band_stands_beside_its_tpot() -> None:
    """117 billion parameters: experts in four bits and a scale, the rest in sixteen."""
    found = plan(GPT, H100, replace(USUAL, precision="fp4"))
    (group,) = (each for each in found.groups if each.tp == 2)
    experts, rest = 114.7e9, 2.1e9
    assert group.weight_bytes == pytest.approx(experts * 4.5 / 8 + 2 * rest, rel=0.01)
    assert isinstance(group.tpot_band, Band) and "gpt-oss" in group.tpot_band.regime
    dense = plan(catalog.model("llama-3.1-8b"), H100, USUAL)
    said, plainly = (" ".join(text(each).split()) for each in (found, dense))
    assert "eight bits at least" in said and "eight bits" not in plainly


def test_a_precision_that_is_none_is_refused() -> None:
    with pytest.raises(LookupError, match="precision must be one of"):
        plan(GPT, H100, replace(USUAL, precision="fp7"))
