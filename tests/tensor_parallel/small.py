"""Blocks small enough to run hundreds of times, and what formulas ask about them."""

from __future__ import annotations

import random

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import GeluFfn
from llmserve_lab.formula.formula import Formula
from llmserve_lab.transformer import tiny_shape

FLOAT = 8  # bytes of a number in NumPy


def block_of(rng: random.Random) -> tuple[ModelShape, int]:
    """One block whose heads need not fill its width, and a number of rows."""
    shape = tiny_shape(
        n_layers=rng.randint(1, 3),
        d_model=8 * rng.randint(1, 3),
        vocab=64,
        n_heads=4 * rng.randint(1, 2),
        n_kv_heads=rng.choice((1, 2, 4)),
        d_head=2 * rng.randint(1, 3),
        ffn=GeluFfn(d_ff=8 * rng.randint(1, 6)) if rng.random() < 0.5 else None,
    )
    return shape, 4 * rng.randint(1, 2)


def sizes(formula: Formula, shape: ModelShape, **more: float) -> dict[str, float]:
    """What ``formula`` asks about a model in float64, with ``more``."""
    heads = shape.attention
    assert isinstance(heads, GroupedQueryAttention)
    known = {
        "n_layers": shape.n_layers,
        "n_heads": heads.n_heads,
        "n_kv_heads": heads.n_kv_heads,
        "d_head": heads.d_head,
        "d_model": shape.d_model,
        "d_ff": shape.ffn.d_ff,
        "bytes_act": FLOAT,
        "params_total": shape.params_total,
        "params_read": shape.params_read,
        "params_active": shape.params_active,
        "bytes_weight": FLOAT,
        "kv_bytes_per_token": shape.kv_bytes_per_token(FLOAT),
        "attn_flops_per_pair": shape.attn_flops_per_pair(),
    } | more
    return formula.given(known)
