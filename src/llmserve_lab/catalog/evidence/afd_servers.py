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

# Rates of a die of DeepSeek-V3.2: by the tokens of a request's prompt, of one group of
# 64 dies, of 48 and 16, and of 64 and 16. In the text of the recipe, not of its charts.
ASCEND_RECIPE = (
    "vLLM's afd-plugin, recipe DeepSeek-V3.2 with CAMP2pAFDConnector, pull request 67"
)
ASCEND_HOW = "of a die of Ascend 910C; loads made even, TPOT not reported"


def _of_die(rate: float, how: str) -> Cited:
    return Cited(rate, "token/s", "measured", ASCEND_RECIPE, f"{how}; {ASCEND_HOW}")


ASCEND = {
    (16, "EP64"): _of_die(232.6, "one group, a batch of 16 on each die"),
    (16, "48A–16F"): _of_die(220.3, "a batch of 28 on each of 48"),
    (16, "64A–16F"): _of_die(258.9, "a batch of 28 on each of 64"),
    (32, "EP64"): _of_die(168.2, "one group, a batch of 8 on each die"),
    (32, "48A–16F"): _of_die(151.4, "a batch of 14 on each of 48"),
    (32, "64A–16F"): _of_die(183.3, "a batch of 14 on each of 64"),
}
QWEN_THREAD = "vLLM's afd-plugin, pull request 274, comment of 27 August 2026"
QWEN_HOW = "Qwen3.5-122B in BF16 on the same eight GPUs over PCIe, mean of five runs"
QWEN = {
    name: Cited(rate, "token/s", "measured", QWEN_THREAD, f"of all GPUs; {QWEN_HOW}")
    for name, rate in (("EP8", 307.80), ("4A–4F", 310.98))
}
QWEN_TPOT = {
    name: Cited(took, "s", "measured", QWEN_THREAD, QWEN_HOW)
    for name, took in (("EP8", 0.10013), ("4A–4F", 0.09888))
}
QWEN_TTFT = {
    name: Cited(took, "s", "measured", QWEN_THREAD, QWEN_HOW)
    for name, took in (("EP8", 0.37129), ("4A–4F", 0.40424))
}
QWEN_GPUS = 8
