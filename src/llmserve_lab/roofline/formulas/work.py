"""What one iteration reads from memory, and what it multiplies.

One iteration takes B requests, each with ℓ tokens
in cache, through the model with c new rows each.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.formula import Formula

ARTICLE = "article 06"

__all__ = [
    "ATTN_FLOPS",
    "ATTN_FLOPS_PER_PAIR",
    "ATTN_FLOPS_PER_PAIR_MLA",
    "ATTN_PAIRS",
    "ITERATION_BYTES",
    "ITERATION_FLOPS",
    "KV_BYTES_PER_TOKEN",
    "KV_BYTES_PER_TOKEN_MLA",
    "KV_READ_BYTES",
    "KV_WRITE_BYTES",
    "LINEAR_FLOPS",
    "N_ROWS",
    "STORED_BYTES",
    "WEIGHT_BYTES",
]

WEIGHT_BYTES = Formula(
    result=q.weight_bytes,
    expr=lambda bytes_weight, params_read: bytes_weight * params_read,
    title="Weight bytes read",
    source=f"{ARTICLE}, §2",
    holds=(
        "every parameter is read once per iteration (dense, or all experts touched), "
        "but for an embedding table that only looks up the rows of its tokens"
    ),
)
STORED_BYTES = Formula(
    result=q.stored_bytes,
    expr=lambda bytes_weight, params_total: bytes_weight * params_total,
    title="Weight bytes stored",
    source=f"{ARTICLE}, §3",
    holds="one copy of every parameter, all in one precision",
)
KV_BYTES_PER_TOKEN = Formula(
    result=q.kv_bytes_per_token,
    expr=lambda keys_and_values, n_layers, n_kv_heads, d_head, bytes_kv: (
        keys_and_values * n_layers * n_kv_heads * d_head * bytes_kv
    ),
    title="KV bytes per token",
    source=f"{ARTICLE}, §3",
    holds="multi-head or grouped-query attention, every layer caching",
)
KV_BYTES_PER_TOKEN_MLA = Formula(
    result=q.kv_bytes_per_token,
    expr=lambda one_latent, n_layers, d_latent, d_rope, bytes_kv: (
        one_latent * n_layers * (d_latent + d_rope) * bytes_kv
    ),
    variant="mla",
    title="KV bytes per token, MLA",
    source="DeepSeek-V2 2024, §2.1",
    holds="multi-head latent attention: all heads share one latent and one rotary key",
)
KV_READ_BYTES = Formula(
    result=q.kv_read_bytes,
    expr=lambda kv_bytes_per_token, context, batch: (
        kv_bytes_per_token * context * batch
    ),
    title="KV bytes read",
    source=f"{ARTICLE}, §2",
    holds="each request reads its own cache once; no prefix is shared",
)
ITERATION_BYTES = Formula(
    result=q.iteration_bytes,
    expr=lambda weight_bytes, kv_read_bytes: weight_bytes + kv_read_bytes,
    uses=(WEIGHT_BYTES, KV_READ_BYTES),
    title="Bytes read in one iteration",
    source=f"{ARTICLE}, §2",
    holds="activations and KV writes are small beside weights and KV reads",
)
N_ROWS = Formula(
    result=q.n_rows,
    expr=lambda chunk, batch: chunk * batch,
    title="Rows in one forward pass",
    source=f"{ARTICLE}, §2",
    holds="every request brings the same number of rows",
)
LINEAR_FLOPS = Formula(
    result=q.linear_flops,
    expr=lambda flops_per_param, params_active, n_rows: (
        flops_per_param * params_active * n_rows
    ),
    uses=(N_ROWS,),
    title="FLOPs of the linear layers",
    source=f"{ARTICLE}, §2",
    holds="every parameter multiplies every row; an embedding look-up is not counted",
)
ATTN_PAIRS = Formula(
    result=q.attn_pairs,
    expr=lambda pairs_per_row, batch, chunk, context, own_row: (
        pairs_per_row * batch * chunk * (context + (chunk + own_row) / 2)
    ),
    title="Query–key pairs",
    source="counted, causal mask",
    holds="causal attention: row i of the chunk sees the cache and the rows up to it",
)
ATTN_FLOPS_PER_PAIR = Formula(
    result=q.attn_flops_per_pair,
    expr=lambda flops_per_product, n_layers, n_heads, d_head: (
        flops_per_product * n_layers * n_heads * (d_head + d_head)
    ),
    title="Attention FLOPs per pair",
    source="counted: score and weighted sum",
    holds="multi-head or grouped-query attention; the softmax is not counted",
)
ATTN_FLOPS_PER_PAIR_MLA = Formula(
    result=q.attn_flops_per_pair,
    expr=lambda flops_per_product, n_layers, n_heads, d_latent, d_rope: (
        flops_per_product * n_layers * n_heads * ((d_latent + d_rope) + d_latent)
    ),
    variant="mla",
    title="Attention FLOPs per pair, MLA absorbed",
    source="DeepSeek-V2 2024, §2.1",
    holds="absorbed form: scores and sums are taken in the latent",
)
ATTN_FLOPS = Formula(
    result=q.attn_flops,
    expr=lambda attn_flops_per_pair, attn_pairs: attn_flops_per_pair * attn_pairs,
    uses=(ATTN_PAIRS,),
    title="FLOPs of attention",
    source="counted",
    holds="no masked pair is computed",
)
ITERATION_FLOPS = Formula(
    result=q.iteration_flops,
    expr=lambda linear_flops, attn_flops: linear_flops + attn_flops,
    uses=(LINEAR_FLOPS, ATTN_FLOPS),
    title="FLOPs of one iteration",
    source="counted",
    holds="norms, activations and the softmax are small beside the products",
)
KV_WRITE_BYTES = Formula(
    result=q.kv_write_bytes,
    expr=lambda kv_bytes_per_token, n_rows: kv_bytes_per_token * n_rows,
    uses=(N_ROWS,),
    title="KV bytes written",
    source="counted",
    holds=(
        "every new row leaves its key and value; "
        "[iteration_bytes](#eq-iteration_bytes) leaves this out"
    ),
)
