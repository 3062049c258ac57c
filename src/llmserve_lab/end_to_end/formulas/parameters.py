"""What a block is made of, in numbers stored."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.formula import Formula

ARTICLE = "article 01"

__all__ = ["ATTN_PARAMS", "BLOCK_PARAMS", "FFN_PARAMS", "NORM_PARAMS"]

ATTN_PARAMS = Formula(
    result=q.attn_params,
    expr=lambda head_matrices, n_heads, n_kv_heads, d_model, d_head: (
        head_matrices * (n_heads + n_kv_heads) * d_model * d_head
    ),
    title="Parameters of attention",
    source=f"{ARTICLE}, §3 and §5",
    holds="multi-head or grouped-query attention without biases",
)
FFN_PARAMS = Formula(
    result=q.ffn_params,
    expr=lambda ffn_matrices, d_model, d_ff: ffn_matrices * d_model * d_ff,
    title="Parameters of the FFN",
    source=f"{ARTICLE}, §3",
    holds="a dense FFN without biases",
)
NORM_PARAMS = Formula(
    result=q.norm_params,
    expr=lambda norm_vectors, d_model: norm_vectors * d_model,
    title="Parameters of the norms",
    source="counted",
    holds="no norm on queries or keys",
)
BLOCK_PARAMS = Formula(
    result=q.block_params,
    expr=lambda attn_params, ffn_params, norm_params: (
        attn_params + ffn_params + norm_params
    ),
    uses=(ATTN_PARAMS, FFN_PARAMS, NORM_PARAMS),
    title="Parameters of a block",
    source="counted",
    holds="as [attn_params](#eq-attn_params) to [norm_params](#eq-norm_params)",
)
