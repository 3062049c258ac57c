"""What others report of models in fewer bits: speed, memory, accuracy, as printed.

Each was read in the abstract or the page that is named; none was measured here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llmserve_lab.catalog.records.cited import Cited

GPTQ = "Frantar and others, GPTQ, arXiv 2210.17323, abstract"
SMOOTHQUANT = "Xiao and others, SmoothQuant, arXiv 2211.10438, abstract"
KIVI = "Liu and others, KIVI, arXiv 2402.02750, abstract"
STREAMING = "Xiao and others, StreamingLLM, arXiv 2309.17453, abstract"
KURTIC = "Kurtic and others, Give Me BF16 or Give Me Death?, arXiv 2411.02355, abstract"
KURTIC_ACL = "Kurtic and others, the same, ACL 2025, abstract"
MR_GPTQ = "Castro and others, Bridging the Gap …, arXiv 2509.23202, abstract"
MARLIN = "Frantar and others, MARLIN, arXiv 2408.11743, abstract"
VLLM_FP8 = "vLLM documentation, FP8 W8A8"
NVFP4 = "NVIDIA, Introducing NVFP4, technical blog, 24 June 2025, summary"
MODELOPT = "NVIDIA, Model Optimizer, examples/benchmark.md (modelopt 0.21.1)"
MODELOPT_OLD = "NVIDIA, Model Optimizer, benchmark.md (modelopt 0.11.0)"
LMQUANT = "MIT HAN Lab, lmquant, projects/llm/README.md"

_times = partial(Cited, unit="dimensionless", kind="measured")
GPTQ_A100 = _times(3.25, source=GPTQ)
GPTQ_A6000 = _times(4.5, source=GPTQ)
SMOOTHQUANT_SPEEDUP = _times(1.56, source=SMOOTHQUANT)
KIVI_MEMORY = _times(2.6, source=KIVI)
KIVI_LEAST, KIVI_MOST = _times(2.35, source=KIVI), _times(3.47, source=KIVI)
STREAMING_SPEEDUP = _times(22.2, source=STREAMING)
KURTIC_LEAST, KURTIC_MOST = _times(0.01, source=KURTIC), _times(0.03, source=KURTIC)
MR_GPTQ_B200 = _times(2.2, source=MR_GPTQ)
MARLIN_MOST = _times(2.8, source=MARLIN)
VLLM_FP8_THROUGHPUT = _times(1.6, source=VLLM_FP8)
NVFP4_MEMORY = _times(3.5, source=NVFP4)
NVFP4_LOSS = _times(0.01, source=NVFP4)

# Llama-3.1-8B on one H200, TensorRT-LLM 0.15: tokens a second of batches with prompts
# of 2,048 tokens and answers of 128, by format and batch.
RATE_PROMPT, RATE_ANSWER = 2048, 128
_rate = partial(Cited, unit="token/s", kind="measured", source=MODELOPT)
RATES = {
    "bf16": {1: _rate(173.80), 8: _rate(803.11), 64: _rate(1679.74)},
    "fp8": {1: _rate(245.03), 8: _rate(1051.17), 64: _rate(2190.93)},
    "int4": {1: _rate(231.75), 8: _rate(599.72), 64: _rate(1392.78)},
}
# The same runs with INT4 weights (AWQ) and FP8 activations.
W4A8_RATES = {1: _rate(239.70), 8: _rate(801.72), 64: _rate(1930.86)}
# Speed over FP16 by an older release: Llama-3-8B on one H100, TensorRT-LLM 0.9, by
# format and batch. The lengths of prompts and answers are not named.
OLD_GAINS = {
    "fp8": {
        batch: _times(gain, source=MODELOPT_OLD)
        for batch, gain in ((2, 1.39), (32, 1.66), (64, 1.43))
    },
    "int4": {
        batch: _times(gain, source=MODELOPT_OLD)
        for batch, gain in ((2, 1.61), (32, 1.43), (64, 1.37))
    },
}
# The 70B model by the first: BF16 on two H200, FP8 and INT4 (AWQ) on one.
LARGE_RATES = {
    "bf16": {1: _rate(45.81), 8: _rate(182.61), 64: _rate(401.50)},
    "fp8": {1: _rate(43.46), 8: _rate(182.07), 64: _rate(420.64)},
    "int4": {1: _rate(44.10), 8: _rate(93.98), 64: _rate(176.68)},
}
_lost = partial(Cited, unit="dimensionless", kind="measured", source=MODELOPT)
MMLU_LOST = {
    "fp8": {"8B": _lost(0.0150), "70B": _lost(0.0038)},
    "int4": {"8B": _lost(0.0566), "70B": _lost(0.0107)},
}
_perplexity = partial(Cited, unit="dimensionless", kind="measured", source=LMQUANT)
# WikiText-2, 2,048 tokens at a time.
PERPLEXITY_MODELS = ("Llama-3-8B", "Llama-2-7B", "Llama-2-70B")
PERPLEXITIES = {
    name: tuple(_perplexity(each) for each in found)
    for name, found in {
        "FP16": (6.14, 5.47, 3.32),
        "INT8 by SmoothQuant, W8A8": (6.28, 5.54, 3.36),
        "INT4 by GPTQ, W4A16, groups of 128": (6.56, 5.63, 3.43),
        "INT4 by AWQ, W4A16, groups of 128": (6.54, 5.60, 3.41),
        "INT4 by QuaRot (rotated), W4A4": (8.33, 6.19, 3.83),
    }.items()
}
# Highest throughput of TensorRT-LLM on one A100, tokens a second.
_a100 = partial(Cited, unit="token/s", kind="measured", source=LMQUANT)
A100_RATES = {
    "Llama-3-8B": {
        "fp16": _a100(2503.0),
        "w4a16": _a100(2370.0),
        "w8a8": _a100(2396.0),
    },
    "Llama-2-7B": {
        "fp16": _a100(1549.0),
        "w4a16": _a100(1549.0),
        "w8a8": _a100(2334.0),
    },
}


@dataclass(frozen=True)
class Published:
    """A published result: what was done, on what, and what came out."""

    what: str
    where: str
    found: str
    source: str


def _x(number: Cited) -> str:
    return f"{float(number):g}×"


PUBLISHED = (
    Published(
        "weights in 3 or 4 bits by GPTQ",
        "generation, up to 175 billion parameters; A100 and A6000",
        f"{_x(GPTQ_A100)} and {_x(GPTQ_A6000)} as fast as FP16",
        GPTQ,
    ),
    Published(
        "INT8 weights and activations by SmoothQuant",
        "OPT-175B and others, FasterTransformer",
        f"up to {_x(SMOOTHQUANT_SPEEDUP)} as fast, half the memory",
        SMOOTHQUANT,
    ),
    Published(
        "INT4 weights by the MARLIN kernel",
        "vLLM, whole run; GPU and model not in the abstract",
        f"up to {_x(MARLIN_MOST)} as fast as FP16",
        MARLIN,
    ),
    Published(
        "FP8 weights and activations",
        "vLLM, GPU with FP8 tensor cores; model not named",
        f"up to {_x(VLLM_FP8_THROUGHPUT)} the throughput, half the memory",
        VLLM_FP8,
    ),
    Published(
        "FP8, INT8, INT4 weights: accuracy",
        "Llama-3.1 8B, 70B, 405B; over 500,000 evaluations",
        f"FP8 lossless; INT8 loses {float(KURTIC_LEAST):.0%} to "
        f"{float(KURTIC_MOST):.0%}; INT4 weights rival INT8",
        KURTIC,
    ),
    Published(
        "W4A16 or W8A8: cost of serving",
        "Llama-3.1, vLLM, several GPUs; the abstract names neither",
        "W4A16 cheapest for one request at a time and on mid-tier GPUs; W8A8 best with "
        "continuous batching on high-end GPUs",
        KURTIC_ACL,
    ),
    Published(
        "NVFP4 weights and activations",
        "Blackwell; the summary names no model",
        f"{_x(NVFP4_MEMORY)} less memory than FP16; it loses less "
        f"than {float(NVFP4_LOSS):.0%} of accuracy on some models",
        NVFP4,
    ),
    Published(
        "NVFP4/MXFP4 with a GPTQ made for them",
        "end to end on one B200, against FP16",
        f"up to {_x(MR_GPTQ_B200)} as fast",
        MR_GPTQ,
    ),
    Published(
        "KV cache in 2 bits by KIVI",
        "Llama, Falcon, Mistral",
        f"{_x(KIVI_MEMORY)} less peak memory, {_x(KIVI_LEAST)} to {_x(KIVI_MOST)} the "
        "throughput",
        KIVI,
    ),
    Published(
        "window with attention sinks",
        "Llama-2, MPT, Falcon, Pythia, to four million tokens",
        f"up to {_x(STREAMING_SPEEDUP)} as fast as recomputing a window",
        STREAMING,
    ),
)
