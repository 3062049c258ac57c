"""Terms of kernels: attention in tiles and in splits, and what runs them."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "FlashAttention",
        "Attention computed tile by tile, so that the scores never go to memory.",
        "flash_attention",
        ("flash attention", "tiled attention"),
    ),
    Term(
        "online softmax",
        "A softmax over scores that come one tile after another: maximum and sum so "
        "far, rescaled when a larger score comes.",
        "flash_attention",
        ("running softmax",),
    ),
    Term(
        "softmax weights",
        "What a softmax makes of the scores of a query: positive numbers that add up "
        "to one, with which the values are mixed.",
        "flash_attention",
        ("attention weights",),
    ),
    Term(
        "FlashDecoding",
        "Attention of a decode with the keys in splits, each read by a thread block "
        "of its own, and merged at the end.",
        "flash_attention",
        ("Flash-Decoding", "split-KV"),
    ),
    Term(
        "log-sum-exp",
        "The logarithm of the sum of exp(score): with it parts of an attention can be "
        "merged.",
        "flash_attention",
        ("LSE",),
    ),
    Term(
        "thread block",
        "The piece of a kernel's work that one multiprocessor carries out.",
        "flash_attention",
        ("CTA",),
    ),
    Term(
        "wave",
        "As many thread blocks as the multiprocessors can take at a time.",
        "flash_attention",
        ("wave quantization",),
        marked=False,
    ),
)
