"""Bytes and balance of ring attention, and attention that each rank has for itself."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import limit
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import KV_BYTES_PER_TOKEN, N_ROWS

__all__ = [
    "BUSIEST",
    "BUSIEST_ENDLESS",
    "EVEN_TOKENS",
    "MISS_SHARE",
    "QUERY_BYTES_PER_TOKEN",
    "RING_KV_BYTES",
    "RING_Q_BYTES",
    "RING_ROWS",
    "WIRE_RIDGE",
]

RING = "Yang et al. 2024, arXiv 2411.01783"
DEALT = "every rank has as many tokens, old and new"

RING_KV_BYTES = Formula(
    result=q.ring_kv_bytes,
    expr=lambda n_ranks, kv_bytes_per_token, context, chunk, batch: (
        (n_ranks - 1) / n_ranks * kv_bytes_per_token * (context + chunk) * batch
    ),
    uses=(KV_BYTES_PER_TOKEN,),
    title="Bytes that leave a rank, pass-KV",
    source="counted: every block but the next rank's own is passed on",
    holds=DEALT,
)
QUERY_BYTES_PER_TOKEN = Formula(
    result=q.query_bytes_per_token,
    expr=lambda query_and_output, n_layers, n_heads, d_head, one_sum, bytes_act: (
        query_and_output * n_layers * n_heads * (2 * d_head + one_sum) * bytes_act
    ),
    title="Bytes of a token's queries and outputs",
    source="counted: d_h numbers go out for each head; d_h and a log-sum-exp come back",
    holds="multi-head or grouped-query attention; all in the bytes of a row's numbers",
)
RING_Q_BYTES = Formula(
    result=q.ring_q_bytes,
    expr=lambda n_ranks, query_bytes_per_token, n_rows: (
        (n_ranks - 1) / n_ranks * query_bytes_per_token * n_rows
    ),
    uses=(QUERY_BYTES_PER_TOKEN, N_ROWS),
    title="Bytes that leave a rank, pass-Q",
    source="counted: the queries go round, and every other rank's part comes back",
    holds=DEALT,
)
MISS_SHARE = Formula(
    result=q.miss_share,
    expr=lambda kv_bytes_per_token, query_bytes_per_token: (
        kv_bytes_per_token / query_bytes_per_token
    ),
    uses=(KV_BYTES_PER_TOKEN, QUERY_BYTES_PER_TOKEN),
    title="Share of new tokens at which both send the same",
    source="[ring_kv_bytes](#eq-ring_kv_bytes) = [ring_q_bytes](#eq-ring_q_bytes)",
    holds="with a smaller share of new tokens, pass-Q sends less",
)
BUSIEST = Formula(
    result=q.busiest,
    expr=lambda n_rows, n_ranks, one_row: (
        (2 * n_rows - n_rows / n_ranks + one_row) / (n_rows + one_row)
    ),
    title="Attention of the last rank over the mean",
    source="counted: the last stretch of the prompt sees all before it",
    holds="causal attention, each rank has one stretch; dealt zig-zag it is 1",
)
BUSIEST_ENDLESS = Formula(
    result=q.busiest_endless,
    expr=lambda: limit(BUSIEST, q.n_rows, "oo"),
    derived=True,
    title="Attention of the last rank over the mean, long prompt",
    source="[busiest](#eq-busiest), its limit",
    holds="as [busiest](#eq-busiest)",
)
WIRE_RIDGE = Formula(
    result=q.wire_ridge,
    expr=lambda peak_flops, eff_compute, link_bw, eff_link: (
        peak_flops * eff_compute / (link_bw * eff_link)
    ),
    title="Ridge of a link",
    source="as that of the memory, with the link in its place",
    holds="sending and computing at the same time",
)
RING_ROWS = Formula(
    result=q.ring_rows,
    expr=lambda kv_bytes_per_token, whole_block, wire_ridge, attn_flops_per_pair: (
        whole_block * kv_bytes_per_token * wire_ridge / attn_flops_per_pair
    ),
    uses=(WIRE_RIDGE,),
    title="Rows on each rank from which the ring hides behind attention",
    source="n rows against a block of n keys are n²/2 pairs that the mask passes",
    holds="one request, nothing cached, dealt zig-zag; latency is small",
)
EVEN_TOKENS = Formula(
    result=q.even_tokens,
    expr=lambda attn_bytes, n_ranks, kv_bytes_per_token, kv_copies: (
        attn_bytes * (n_ranks - 1) / (kv_bytes_per_token * (kv_copies - 1))
    ),
    title="Cached tokens at which attention takes the same memory, cut or whole",
    source="counted: g − 1 more copies of attention's weights against copies of the "
    "cache less one",
    holds="more ranks than key–value heads, or a latent; also the bytes read in a "
    "decode step are then the same",
)
