"""A datasheet peak is a promise; an efficiency says how much of it was reached.

Peaks and efficiencies are kept apart in the whole book, so that every figure can say
which of the two it shows. Each share is divided out of two cited numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.data.links import IB_NDR
from llmserve_lab.catalog.data.nvidia_ampere_to_hopper import H100, H800
from llmserve_lab.catalog.evidence.articles import ARTICLE_FLOPS
from llmserve_lab.catalog.records.cited import Cited, cite_in, fraction


@dataclass(frozen=True, kw_only=True)
class Efficiency:
    """Shares in (0, 1] of peak compute, memory bandwidth and link bandwidth reached.

    ``device`` and ``precision`` say where the shares were found; used elsewhere they
    are an assumption, and the text has to say so.
    """

    name: str
    key: str
    compute: Cited
    memory: Cited
    link: Cited
    device: str = "any"
    precision: str = "any"

    def __post_init__(self) -> None:
        cite_in(self, compute="dimensionless", memory="dimensionless")
        cite_in(self, link="dimensionless")
        for part in ("compute", "memory", "link"):
            share = getattr(self, part)
            if not 0 < float(share) <= 1:
                raise ValueError(f"{part} must be a share in (0, 1], got {share}")


FULL = Cited(1, "dimensionless", "convention", "the datasheet peak, taken at its word")
FLASH_MLA = "FlashMLA README, April 2025, H800"
DEEP_GEMM = "DeepGEMM README, April 2025, H800"
DEEP_EP = "DeepEP README, 2025, over 400 Gb/s InfiniBand"
MAZUREK = "Mazurek and Schreiber, DeepSeek Inference Model, 2025, section 3.5"

FLASH_MLA_FLOPS = Cited(660e12, "FLOP/s", "measured", FLASH_MLA, "the best case")
FLASH_MLA_BW = Cited(3000e9, "byte/s", "measured", FLASH_MLA, "the best case")
DEEP_GEMM_FLOPS = Cited(1550e12, "FLOP/s", "measured", DEEP_GEMM, "the best case")
DEEP_EP_BW = Cited(40e9, "byte/s", "measured", DEEP_EP)

_factor = partial(Cited, unit="dimensionless", kind="paper", source=MAZUREK)
PENALTY = _factor(1.1, note="overhead between kernels, on top of each compute factor")
MLA_FACTOR = _factor(1.5, note="peak over reached, FlashMLA")
EXPERT_FACTOR = _factor(1.3, note="peak over reached, DeepGEMM")
MEMORY_FACTOR = _factor(2.0, note="their cautious assumption, not measured")


def _inverse(*factors: Cited) -> Cited:
    """Turn inefficiency factors, each at least 1, into the share that they leave."""
    share = 1.0
    for factor in factors:
        share /= float(factor)
    note = " × ".join(f"{factor.value:g}" for factor in factors)
    return Cited(share, "dimensionless", "paper", MAZUREK, f"1 / ({note})")


DATASHEET = Efficiency(
    name="datasheet", key="datasheet", compute=FULL, memory=FULL, link=FULL
)
ARTICLE_06 = Efficiency(
    name="article 06",
    key="article-06",
    compute=fraction(ARTICLE_FLOPS, H100.peak("bf16")),
    memory=FULL,
    link=FULL,
    device="h100-sxm",
    precision="bf16",
)
FLASHMLA = Efficiency(
    name="FlashMLA, measured",
    key="flashmla",
    compute=fraction(FLASH_MLA_FLOPS, H800.peak("bf16")),
    memory=fraction(FLASH_MLA_BW, H800.hbm_bw),
    link=fraction(DEEP_EP_BW, IB_NDR.bandwidth),
    device="h800-sxm",
    precision="bf16",
)
DEEPGEMM = Efficiency(
    name="DeepGEMM, measured",
    key="deepgemm",
    compute=fraction(DEEP_GEMM_FLOPS, H800.peak("fp8")),
    memory=fraction(FLASH_MLA_BW, H800.hbm_bw, note="FlashMLA's; none is published"),
    link=fraction(DEEP_EP_BW, IB_NDR.bandwidth),
    device="h800-sxm",
    precision="fp8",
)
MODEL_MLA = Efficiency(
    name="Mazurek and Schreiber, attention",
    key="mazurek-mla",
    compute=_inverse(MLA_FACTOR, PENALTY),
    memory=_inverse(MEMORY_FACTOR),
    link=fraction(DEEP_EP_BW, IB_NDR.bandwidth),
    precision="bf16",
)
MODEL_EXPERTS = Efficiency(
    name="Mazurek and Schreiber, experts",
    key="mazurek-experts",
    compute=_inverse(EXPERT_FACTOR, PENALTY),
    memory=_inverse(MEMORY_FACTOR),
    link=fraction(DEEP_EP_BW, IB_NDR.bandwidth),
    precision="fp8",
)

EFFICIENCIES: Mapping[str, Efficiency] = MappingProxyType(
    {
        each.key: each
        for each in (
            DATASHEET,
            ARTICLE_06,
            FLASHMLA,
            DEEPGEMM,
            MODEL_MLA,
            MODEL_EXPERTS,
        )
    }
)
