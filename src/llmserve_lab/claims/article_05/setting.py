"""What article 05 assumes: Llama-2-7B with its round parameter count, on one H100.

500 TFLOP/s of sustained compute against the datasheet's bandwidth, eight requests that
decode with a thousand tokens each. Its k is 1000 in most cells and 1024 in one.
"""

from __future__ import annotations

from llmserve_lab.continuous_batching import formulas as f
from llmserve_lab.continuous_batching.article_machine import as_printed
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as roofline

K = 1000
DECODES = {"n_decodes": 8.0, "decode_context": float(K)}
LONG, CHUNK, BUDGET_S = 100 * K, 2048, 0.05
ROUNDS = "It rounds to the digits printed."


def at(formula: Formula, **values: float) -> float:
    """Compute ``formula`` in the article's setting, ``values`` added or changed."""
    return float(formula.at(as_printed(), DECODES, values))


def linear_flops(n_rows: float) -> float:
    """FLOPs of the linear layers for so many rows."""
    return float(roofline.LINEAR_FLOPS(**_only("params_active"), n_rows=n_rows))


def attn_flops(attn_pairs: float) -> float:
    """FLOPs of attention for so many pairs."""
    known = _only("attn_flops_per_pair")
    return float(roofline.ATTN_FLOPS(**known, attn_pairs=attn_pairs))


def seconds(*, n_rows: float, attn_pairs: float, kv_read_bytes: float) -> float:
    """Time of any iteration, ``iteration_s``, from its rows, pairs and cache bytes."""
    sums = {
        "n_rows": n_rows,
        "attn_pairs": attn_pairs,
        "kv_read_bytes": kv_read_bytes,
    }
    return float(roofline.ITERATION_S.at(as_printed(), **sums))


def _only(name: str) -> dict[str, float]:
    return {name: float(as_printed()[name])}


def prompt_pairs(prompt: float) -> float:
    """Causal pairs of a whole prompt."""
    return float(roofline.ATTN_PAIRS(batch=1, chunk=prompt, context=0))


def decode_s(n_decodes: float = DECODES["n_decodes"], context: float = K) -> float:
    """An iteration of nothing but decodes."""
    return at(roofline.ITERATION_S, batch=n_decodes, chunk=1, context=context)


def chunk_s(chunk: float, prefix: float) -> float:
    """An iteration of a chunk after a prefix, and the decodes."""
    return at(f.MIXED_ITERATION_S, chunk=chunk, context=prefix)
