"""Terms of fewer bytes: number formats, scales, rounding, forgetting."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "quantization",
        "Storing or computing numbers in fewer bits.",
        "quantization",
        ("FP4", "INT8", "INT4", "W4A16", "W8A8"),
    ),
    Term(
        "FP8",
        "Floating-point numbers of eight bits: E4M3 for weights and cache, E5M2 "
        "with a wider range.",
        "quantization",
        ("E4M3", "E5M2"),
    ),
    Term(
        "group scale",
        "What the codes of a group of numbers are multiplied by; the group shares it.",
        "quantization",
        ("scale", "group size", "block scale"),
        marked=False,
    ),
    Term(
        "NVFP4",
        "Four-bit floating-point numbers in groups of sixteen, their scale in FP8.",
        "quantization",
        ("E2M1",),
    ),
    Term(
        "MXFP4",
        "Four-bit floating-point numbers in groups of 32, their scale a power of two.",
        "quantization",
        ("E8M0", "microscaling"),
    ),
    Term(
        "round to nearest",
        "Quantizing each number for itself, to the nearest that has a code.",
        "quantization",
        ("RTN",),
    ),
    Term(
        "GPTQ",
        "Rounding a weight column by column; the error goes onto columns to come.",
        "quantization",
        ("calibration data",),
    ),
    Term(
        "outlier channel",
        "A channel of activations, or a column of weights, far larger than the others.",
        "quantization",
        ("outlier", "SmoothQuant"),
        marked=False,
    ),
    Term(
        "KV eviction",
        "Forgetting tokens of a cache, by their place or the attention they got.",
        "quantization",
        ("StreamingLLM", "SnapKV", "KV compression"),
    ),
    Term(
        "attention sink",
        "A token, mostly the first, that gets attention for which there is no use.",
        "quantization",
    ),
)
