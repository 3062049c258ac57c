"""Latent attention has two forms with equal outputs; FLOPs decide when to use which.

Vanilla makes keys and values of every cached token again in each step. Absorbed never
does, but works on wider vectors for every pair.
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
    "ATTN_GEMM_COMPUTE_S",
    "ATTN_GEMM_READ_S",
    "ATTN_GEMM_S",
    "ATTN_KERNEL_S",
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
    source="[expand_flops](#eq-expand_flops) against a chunk's pairs with its cache",
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
    title="Time to read them, as the paper has it",
    source=f"{MODEL}, §3.5",
    holds="weights and cache at one rate; compute keeps up",
)
MLA_COMPUTE_S = Formula(
    result=q.mla_compute_s,
    expr=_mla_compute_s,
    uses=(N_ROWS, ATTN_PAIRS),
    title="Time to compute attention, as the paper has it",
    source=COUNTED,
    holds="absorbed form; softmax, norms and rotation left out",
)
ATTN_GEMM_READ_S = Formula(
    result=q.attn_gemm_read_s,
    expr=lambda bytes_weight, mla_params, n_rows, attn_gemm_row_bytes, read_rate: (
        (bytes_weight * mla_params + n_rows * attn_gemm_row_bytes) / read_rate
    ),
    uses=(N_ROWS,),
    title="Time that attention's GEMMs read and write",
    source="counted kernel by kernel",
    holds="weights once for all rows; each row into and out of every GEMM",
)
ATTN_GEMM_COMPUTE_S = Formula(
    result=q.attn_gemm_compute_s,
    expr=lambda flops_per_param, mla_params, n_rows, gemm_rate: (
        flops_per_param * mla_params * n_rows / gemm_rate
    ),
    uses=(N_ROWS,),
    title="Time that attention's GEMMs compute",
    source=COUNTED,
    holds="absorbed form, or prefill of rows without a cache",
)
ATTN_GEMM_S = Formula(
    result=q.attn_gemm_s,
    expr=lambda attn_gemm_read_s, attn_gemm_compute_s: root_of_squares(
        attn_gemm_read_s, attn_gemm_compute_s
    ),
    uses=(ATTN_GEMM_READ_S, ATTN_GEMM_COMPUTE_S),
    title="Time of attention's GEMMs",
    source=KERNEL_TIMES,
    holds="reading and computing overlap, less well where they take as long; the "
    "rates were fitted under this law",
)
ATTN_KERNEL_S = Formula(
    result=q.attn_kernel_s,
    expr=lambda kv_read_bytes, cache_rate, attn_flops_per_pair, attn_pairs, attn_rate: (
        maximum(
            kv_read_bytes / cache_rate, attn_flops_per_pair * attn_pairs / attn_rate
        )
    ),
    uses=(KV_READ_BYTES, ATTN_PAIRS),
    title="Time of the attention kernel",
    source="FlashMLA 2025, its two published rates",
    holds="each rate is that of the whole kernel, its reads overlapped: they are "
    "charged once",
)
MLA_S = Formula(
    result=q.mla_s,
    expr=lambda attn_gemm_s, attn_kernel_s: attn_gemm_s + attn_kernel_s,
    uses=(ATTN_GEMM_S, ATTN_KERNEL_S),
    title="Time of attention",
    source="one kernel after another",
    holds="what lies between its kernels is not in it",
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
