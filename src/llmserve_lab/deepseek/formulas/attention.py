"""Latent attention has two forms with equal outputs; FLOPs decide when to use which.

Vanilla makes keys and values of every
cached token again in each step. Absorbed never does, but works on wider vectors for
every pair.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import maximum
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import ATTN_PAIRS, KV_READ_BYTES, N_ROWS

MODEL = "Mazurek and Schreiber 2025"
COUNTED = "counted on the executed MLA"
KERNEL_TIMES = "published kernel times, DeepGEMM 2025"

__all__ = [
    "ABSORB_ROWS",
    "EXPAND_FLOPS",
    "MLA_BYTES",
    "MLA_COMPUTE_S",
    "MLA_READ_S",
    "MLA_S",
    "QUADRATIC_PROMPT",
    "SHARP_S",
    "VANILLA_PAIR_FLOPS",
]


def root_of_squares(read_s: Any, compute_s: Any) -> Any:
    """The longer of two times when the other is short; near each other, more."""
    import sympy

    return sympy.sqrt(read_s**2 + compute_s**2)


def _absorb_rows(
    flops_per_param: Any,
    up_params: Any,
    attn_flops_per_pair: Any,
    vanilla_pair_flops: Any,
    pairs_per_row: Any,
) -> Any:
    return (
        flops_per_param
        * up_params
        / (pairs_per_row * (attn_flops_per_pair - vanilla_pair_flops))
    )


def _mla_compute_s(
    flops_per_param: Any,
    mla_params: Any,
    n_rows: Any,
    gemm_rate: Any,
    attn_flops_per_pair: Any,
    attn_pairs: Any,
    attn_rate: Any,
) -> Any:
    return (
        flops_per_param * mla_params * n_rows / gemm_rate
        + attn_flops_per_pair * attn_pairs / attn_rate
    )


EXPAND_FLOPS = Formula(
    result=q.expand_flops,
    expr=lambda flops_per_param, up_params, context, batch: (
        flops_per_param * up_params * context * batch
    ),
    title="Making keys and values of the cache again",
    source=COUNTED,
    holds="vanilla form; what the new rows need is in the parameters of attention",
)
VANILLA_PAIR_FLOPS = Formula(
    result=q.vanilla_pair_flops,
    expr=lambda flops_per_product, n_layers, n_heads, d_head, d_rope: (
        flops_per_product * n_layers * n_heads * ((d_head + d_rope) + d_head)
    ),
    title="Attention FLOPs per pair, MLA vanilla",
    source=COUNTED,
    holds="values as wide as keys without their rotary part",
)
ABSORB_ROWS = Formula(
    result=q.absorb_rows,
    expr=_absorb_rows,
    title="Rows from which vanilla is cheaper",
    source=(
        "[expand_flops](#eq-expand_flops) against the pairs of a chunk with its cache"
    ),
    holds="one request; pairs inside the chunk left out, which only favour vanilla",
)
MLA_BYTES = Formula(
    result=q.mla_bytes,
    expr=lambda bytes_weight, mla_params, kv_read_bytes: (
        bytes_weight * mla_params + kv_read_bytes
    ),
    uses=(KV_READ_BYTES,),
    title="Bytes that attention reads",
    source=f"{MODEL}, §3.1.1",
    holds="data-parallel attention: every GPU holds and reads all of its weights",
)
MLA_READ_S = Formula(
    result=q.mla_read_s,
    expr=lambda mla_bytes, read_rate: mla_bytes / read_rate,
    uses=(MLA_BYTES,),
    title="Time to read them",
    source=f"{MODEL}, §3.5",
    holds="compute keeps up",
)
MLA_COMPUTE_S = Formula(
    result=q.mla_compute_s,
    expr=_mla_compute_s,
    uses=(N_ROWS, ATTN_PAIRS),
    title="Time to compute attention",
    source=COUNTED,
    holds="absorbed form; softmax, norms and rotation left out",
)
MLA_S = Formula(
    result=q.mla_s,
    expr=lambda mla_read_s, mla_compute_s: root_of_squares(mla_read_s, mla_compute_s),
    uses=(MLA_READ_S, MLA_COMPUTE_S),
    title="Time of attention",
    source=KERNEL_TIMES,
    holds="reading and computing overlap, less well where they take as long",
)
SHARP_S = Formula(
    result=q.sharp_s,
    expr=lambda block_read_s, block_compute_s: maximum(block_read_s, block_compute_s),
    title="Time of a block, by the sharp roofline",
    source=f"{MODEL}, (46) and (47)",
    holds="reading and computing overlap completely",
)
QUADRATIC_PROMPT = Formula(
    result=q.quadratic_prompt,
    expr=lambda flops_per_param, params_active, vanilla_pair_flops, pairs_per_row: (
        2 * flops_per_param * params_active / (pairs_per_row * vanilla_pair_flops)
    ),
    title="Where the quadratic part takes over",
    source="half of s² pairs against s rows",
    holds="prefill of one prompt at once, in the vanilla form",
)
