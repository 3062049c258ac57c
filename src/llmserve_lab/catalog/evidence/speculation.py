"""What others published of speculative decoding: tokens of a pass, and times.

Curves of accepted drafts for five families of models, times per output token of one
model with two drafting heads, rates and shares. And the shape of a draft model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.evidence.serving import DraftCurve
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.ffn import SwigluFfn
from llmserve_lab.catalog.records.shape import ModelShape

LLAMA_32_1B = ModelShape(
    name="Llama-3.2-1B",
    key="llama-3.2-1b",
    source="config.json of meta-llama/Llama-3.2-1B, as LitGPT's config.py repeats it",
    n_layers=16,
    d_model=2048,
    vocab=128_256,
    attention=GroupedQueryAttention(n_heads=32, n_kv_heads=8, d_head=64),
    ffn=SwigluFfn(d_ff=8192),
    max_context=131_072,
    tied=True,
    published={
        "params_total": Cited(
            1.23e9, "parameter", "paper", "model card of Llama-3.2-1B"
        )
    },
)

_curve = partial(
    DraftCurve,
    source="InferenceX, golden_al_distribution at 843c6254 (Apache-2.0): B300, vLLM, "
    "coding prompts of SPEED-Bench, up to 4,096 tokens of answer",
)
# Tokens of a pass with 1 to 8 drafts. "thinks": the model reasons before it answers.
CURVES: tuple[DraftCurve, ...] = (
    _curve(
        name="Qwen3.5-397B, MTP, thinks",
        tokens=(1.93, 2.73, 3.39, 3.97, 4.41, 4.80, 5.04, 5.21),
    ),
    _curve(
        name="Qwen3.5-397B, MTP",
        tokens=(1.92, 2.70, 3.33, 3.83, 4.20, 4.48, 4.73, 4.71),
    ),
    _curve(
        name="Kimi-K2.5, EAGLE-3, thinks",
        tokens=(1.83, 2.43, 2.88, 3.24, 3.46, 3.62, 3.71, 3.77),
    ),
    _curve(
        name="Kimi-K2.5, EAGLE-3",
        tokens=(1.80, 2.33, 2.75, 3.06, 3.25, 3.43, 3.46, 3.51),
    ),
    _curve(
        name="Kimi-K3, DSpark, thinks",
        tokens=(1.84, 2.45, 2.87, 3.22, 3.44, 3.54, 3.78, 3.88),
    ),
    _curve(
        name="Kimi-K3, DSpark, block verification, thinks",
        tokens=(1.85, 2.51, 3.00, 3.36, 3.62, 3.75, 3.84, 4.00),
    ),
    _curve(
        name="DeepSeek-V4-Pro, MTP, thinks",
        tokens=(1.79, 2.27, 2.49, 2.54, 2.55, 2.55, 2.54, 2.58),
    ),
    _curve(
        name="DeepSeek-V4-Pro, MTP",
        tokens=(1.92, 2.61, 2.97, 3.00, 3.10, 3.16, 3.00, 3.11),
    ),
    _curve(
        name="DeepSeek-V4-Pro-0813, DSpark, thinks",
        tokens=(1.84, 2.51, 3.01, 3.36, 3.61, 3.77, 3.73, 3.47),
    ),
    _curve(
        name="GLM-5.2, MTP, thinks",
        tokens=(1.84, 2.50, 2.99, 3.33, 3.61, 3.78, 3.91, 4.06),
    ),
    _curve(
        name="MiniMax-M3, EAGLE-3, thinks",
        tokens=(1.78, 2.38, 2.83, 3.11, 3.35, 3.45, 3.53, 3.74),
    ),
    _curve(
        name="MiniMax-M3, EAGLE-3",
        tokens=(1.84, 2.52, 2.93, 3.41, 3.59, 3.57, 3.85, 4.06),
    ),
    _curve(
        name="MiniMax-M3, EAGLE-3 (GQA), thinks",
        tokens=(1.79, 2.39, 2.78, 3.02, 3.21, 3.30, 3.52, 3.51),
    ),
    _curve(
        name="MiniMax-M3, EAGLE-3 (GQA)",
        tokens=(1.83, 2.46, 2.97, 3.29, 3.72, 3.76, 3.75, 3.93),
    ),
)


@dataclass(frozen=True)
class HeadRun:
    """A drafting head: tokens of a pass and milliseconds a token, by drafts."""

    name: str
    tokens: Mapping[int, float]
    tpot_ms: Mapping[int, float]


VLLM_ISSUE = "vLLM, issue 20780 (July 2025): Llama-3.1-8B, one request at a time"
PLAIN_TPOT = Cited(7.07e-3, "s", "measured", VLLM_ISSUE, "without drafts")
DRAFTS = (2, 3, 4, 5, 6, 7)


def _by_drafts(*values: float) -> Mapping[int, float]:
    return MappingProxyType(dict(zip(DRAFTS, values, strict=True)))


HEAD_RUNS: tuple[HeadRun, ...] = (
    HeadRun(
        "EAGLE",
        _by_drafts(2.1, 2.29, 2.39, 2.43, 2.45, 2.47),
        _by_drafts(4.37, 4.29, 4.48, 4.71, 4.94, 5.2),
    ),
    HeadRun(
        "EAGLE-3",
        _by_drafts(2.36, 2.79, 3.08, 3.32, 3.46, 3.54),
        _by_drafts(4.32, 4.09, 4.05, 4.13, 4.2, 4.29),
    ),
)

BATCHES = (1, 16, 64, 128)
CHAIN = 3  # drafts of each request and round in these runs


@dataclass(frozen=True)
class BatchRun:
    """EAGLE on one task: tokens of a pass, lengths, and the speedup by batch."""

    task: str
    tokens: float  # counted on the published acceptance of every position
    prompt: int
    answer: int
    gains: Mapping[int, float]


SPEC_BENCH = (
    "Speculative Decoding: Performance or Illusion?, arXiv 2601.11580: Llama-3.1-8B, "
    "one H100, vLLM 0.10.1; speedups read off the vectors of its first figure, tokens "
    "counted on SpecDecode-Bench/simulator at 2fdccbd6"
)


def _by_batch(*gains: float) -> Mapping[int, float]:
    return MappingProxyType(dict(zip(BATCHES, gains, strict=True)))


BATCH_RUNS: tuple[BatchRun, ...] = (
    BatchRun("ShareGPT", 2.255, 355, 740, _by_batch(1.679, 1.668, 1.535, 1.291)),
    BatchRun("GSM8K", 2.394, 94, 165, _by_batch(1.731, 1.678, 1.466, 1.214)),
    BatchRun("InstructCoder", 2.352, 171, 250, _by_batch(1.973, 1.854, 1.538, 1.298)),
    BatchRun("CNN/DailyMail", 2.331, 838, 322, _by_batch(1.444, 1.397, 1.275, 1.144)),
)
SIMULATED = (
    "SpecDecode-Bench/simulator at 2fdccbd6: Llama-3.1-8B-Instruct; the tokens kept "
    "at every position of the answers, walked through with 1 to 8 drafts"
)
_walked = partial(DraftCurve, source=SIMULATED)
# The head EAGLE on the four tasks above, and copying from the text.
EAGLE_CURVES: tuple[DraftCurve, ...] = (
    _walked(
        name="ShareGPT", tokens=(1.661, 2.038, 2.254, 2.390, 2.478, 2.539, 2.582, 2.609)
    ),
    _walked(
        name="GSM8K", tokens=(1.699, 2.134, 2.391, 2.558, 2.666, 2.726, 2.765, 2.783)
    ),
    _walked(
        name="InstructCoder",
        tokens=(1.681, 2.095, 2.348, 2.515, 2.625, 2.702, 2.760, 2.796),
    ),
    _walked(
        name="CNN/DailyMail",
        tokens=(1.674, 2.083, 2.329, 2.483, 2.578, 2.645, 2.694, 2.721),
    ),
)
TEXT_CURVES: tuple[DraftCurve, ...] = (
    _walked(
        name="ShareGPT", tokens=(1.236, 1.339, 1.395, 1.428, 1.451, 1.467, 1.478, 1.487)
    ),
    _walked(
        name="GSM8K", tokens=(1.109, 1.147, 1.164, 1.172, 1.177, 1.180, 1.183, 1.184)
    ),
    _walked(
        name="InstructCoder",
        tokens=(1.509, 1.823, 2.028, 2.188, 2.289, 2.370, 2.448, 2.499),
    ),
    _walked(
        name="CNN/DailyMail",
        tokens=(1.205, 1.289, 1.334, 1.361, 1.378, 1.390, 1.398, 1.404),
    ),
)

_bench = partial(Cited, unit="dimensionless", kind="measured", source=SPEC_BENCH)
SMALL_LOSES = _bench(0.912, note="Qwen3-8B, a small model drafts, ShareGPT, batch 128")
SMALL_COST = _bench(0.375, note="a pass of Qwen3-0.6B over one of Qwen3-8B")

EAGLE_3_VOCAB = Cited(
    32_000,
    "token",
    "paper",
    "config.json of nm-testing/EAGLE3-LLaMA3.1-Instruct-8B-converted: draft_vocab_size",
    "the head scores these tokens alone",
)

SGLANG_DOCS = "SGLang documentation, Speculative Decoding: Llama-3.1-8B, one H100"
_rate = partial(Cited, unit="token/s", kind="measured", source=SGLANG_DOCS)
SGLANG_RATES: Mapping[str, Cited] = MappingProxyType(
    {
        "no drafts": _rate(158.34, note="MT-bench"),
        "EAGLE-2": _rate(244.10, note="MT-bench"),
        "EAGLE-3": _rate(373.25, note="MT-bench"),
    }
)
EAGLE_3 = "EAGLE-3, arXiv 2503.01840, abstract: SGLang"
EAGLE_3_AT_64 = Cited(
    1.38, "dimensionless", "measured", EAGLE_3, "throughput, batch 64"
)

DEEPSEEK_V3 = "DeepSeek-V3 Technical Report, arXiv 2412.19437, §5.4.3"
MTP_KEPT = (
    Cited(0.85, "dimensionless", "measured", DEEPSEEK_V3, "second token kept, least"),
    Cited(0.90, "dimensionless", "measured", DEEPSEEK_V3, "second token kept, most"),
)
MTP_SPEEDUP = Cited(1.8, "dimensionless", "measured", DEEPSEEK_V3, "tokens a second")
