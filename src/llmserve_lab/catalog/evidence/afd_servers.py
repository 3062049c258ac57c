"""What servers that split attention from the FFN have published of themselves."""

from __future__ import annotations

from llmserve_lab.catalog.records.cited import Cited

STEP_3_PAPER = "StepFun, Step-3, arXiv 2507.19427, abstract"
MEGASCALE_PAPER = "MegaScale-Infer, arXiv 2504.02263, abstract"
XDEEPSERVE_PAPER = "xDeepServe, arXiv 2508.02520, abstract"

STEP_3 = Cited(
    4039.0,
    "token/s",
    "measured",
    STEP_3_PAPER,
    "of a Hopper GPU; its own model, context of 4K, FP8, 50 ms per token, no drafts",
)
STEP_3_BESIDE = Cited(
    2324.0,
    "token/s",
    "measured",
    STEP_3_PAPER,
    "of a Hopper GPU; DeepSeek-V3 without a split, as the same authors compare it",
)
STEP_3_TPOT = Cited(0.05, "s", "measured", STEP_3_PAPER, "target of both")
STEP_3_PARAMS = Cited(321e9, "parameter", "datasheet", STEP_3_PAPER)
MEGASCALE_GAIN = Cited(
    1.9,
    "dimensionless",
    "measured",
    MEGASCALE_PAPER,
    "tokens/s of a GPU over those of servers without a split, at most",
)
MEGASCALE_PER_COST = Cited(
    1.86,
    "dimensionless",
    "measured",
    "MegaScale-Infer, arXiv 2504.02263, section on heterogeneous hardware",
    "decoded tokens/s per cost, H20 for attention, at most",
)
XDEEPSERVE = Cited(
    2400.0,
    "token/s",
    "measured",
    XDEEPSERVE_PAPER,
    "of an Ascend 910C chip at about 50 ms per token, at its peak; whether attention "
    "was apart from the experts there is not said",
)
XDEEPSERVE_CHIPS = Cited(384.0, "dimensionless", "datasheet", XDEEPSERVE_PAPER)
