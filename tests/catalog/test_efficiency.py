"""Efficiencies are divided out of cited numbers; the articles' constants stay apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.data import efficiencies as found
from llmserve_lab.catalog.records.cited import Cited

# Numbers that nothing counts, read a second time, in the units of their sources.
PRINTED = {
    "FLASH_MLA_FLOPS": (660, 1e12),
    "FLASH_MLA_BW": (3000, 1e9),
    "DEEP_GEMM_FLOPS": (1550, 1e12),
    "DEEP_EP_BW": (40, 1e9),
    "PENALTY": (110, 1e-2),
    "MLA_FACTOR": (150, 1e-2),
    "EXPERT_FACTOR": (130, 1e-2),
    "MEMORY_FACTOR": (200, 1e-2),
}


@pytest.mark.parametrize("name", PRINTED)
def test_measured_numbers_are_those_that_were_printed(name: str) -> None:
    digits, scale = PRINTED[name]
    assert float(getattr(found, name)) == pytest.approx(digits * scale, rel=1e-12)


def test_the_datasheet_takes_peaks_at_their_word() -> None:
    datasheet = catalog.efficiency("datasheet")
    for share in (datasheet.compute, datasheet.memory, datasheet.link):
        assert (float(share), share.kind) == (1.0, "convention")


def test_article_06_reaches_its_own_flops_on_an_h100() -> None:
    share = catalog.efficiency("article-06")
    device = catalog.accelerator(share.device)
    reached = float(share.compute) * float(device.peak(share.precision))
    assert reached == pytest.approx(float(catalog.ARTICLE_FLOPS))
    assert round(reached / float(device.hbm_bw), -1) == 150


@pytest.mark.parametrize("key", ["flashmla", "deepgemm"])
def test_measured_shares_lead_back_to_what_was_measured(key: str) -> None:
    share = catalog.efficiency(key)
    device = catalog.accelerator(share.device)
    compute = float(share.compute) * float(device.peak(share.precision))
    measured = {"flashmla": 660e12, "deepgemm": 1550e12}
    assert compute == pytest.approx(measured[key])
    assert float(share.memory) * float(device.hbm_bw) == pytest.approx(3000e9)
    assert float(share.link) * float(catalog.link("infiniband-ndr").bandwidth) == 40e9


def test_the_factors_of_the_model_are_the_kernels_inverted_and_rounded() -> None:
    for key, factor in (
        ("flashmla", found.MLA_FACTOR),
        ("deepgemm", found.EXPERT_FACTOR),
    ):
        inefficiency = 1 / float(catalog.efficiency(key).compute)
        assert round(inefficiency, 1) == float(factor)


@pytest.mark.parametrize(
    ("key", "factor"), [("mazurek-mla", 1.65), ("mazurek-experts", 1.43)]
)
def test_the_model_pays_a_penalty_on_top(key: str, factor: float) -> None:
    share = catalog.efficiency(key)
    assert 1 / float(share.compute) == pytest.approx(factor)
    assert 1 / float(share.memory) == pytest.approx(2)
    assert 1 / float(share.link) == pytest.approx(1.25)


def test_a_share_above_one_is_refused() -> None:
    good = catalog.efficiency("datasheet")
    for value in (1.5, 0):
        with pytest.raises(ValueError, match=r"memory must be a share in \(0, 1\]"):
            replace(good, memory=Cited(value, "dimensionless", "estimate", "a guess"))
    with pytest.raises(ValueError, match="compute must have no unit, got FLOP/s"):
        replace(good, compute=Cited(0.5, "FLOP/s", "estimate", "a guess"))


def test_the_articles_round_their_constants() -> None:
    counted = catalog.model("llama-2-7b").params_total
    assert float(catalog.ARTICLE_PARAMS) == round(counted, -9) == 7_000_000_000
    assert float(catalog.ARTICLE_FLOPS) == 0.5e15
    steps_per_s = float(catalog.SCALING_HBM_BW) / (2 * float(catalog.ARTICLE_PARAMS))
    assert round(steps_per_s, 1) == 142.9
    assert float(catalog.SCALING_HBM_BW) == 2e12


# Sign, exponent and mantissa bits of each format; whole numbers have no exponent.
LAYOUTS = {
    "fp32": (1, 8, 23),
    "bf16": (1, 8, 7),
    "fp16": (1, 5, 10),
    "fp8": (1, 4, 3),
    "int8": (1, 0, 7),
    "fp4": (1, 2, 1),
    "int4": (1, 0, 3),
}


@pytest.mark.parametrize("key", LAYOUTS)
def test_a_number_takes_as_many_bits_as_its_parts(key: str) -> None:
    precision = catalog.precision(key)
    assert float(precision.bits) == sum(LAYOUTS[key])
    assert float(precision.bytes_weight) * 8 == sum(LAYOUTS[key])
    assert precision.bytes_weight.unit == "byte/parameter"
    assert precision.bytes_kv.unit == "byte/element"
    assert float(precision.bytes_kv) == float(precision.bytes_weight)


def test_every_precision_of_the_catalog_is_one_of_these() -> None:
    assert set(catalog.PRECISIONS) == set(LAYOUTS)
    for device in catalog.ACCELERATORS.values():
        if device.disclosed:
            assert set(device.peak_flops) <= set(LAYOUTS)
