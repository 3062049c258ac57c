"""Where the coefficients come from: bytes of a cached token, FLOPs of an expert.

For one layer, as in the paper's appendix B.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.afd.formulas.load import PAPER
from llmserve_lab.formula.formula import Formula

__all__ = [
    "A_ATTN",
    "A_COMM",
    "A_FFN",
    "EXPERT_FLOPS",
    "EXPERT_ROWS",
    "ROW_WIRE_BYTES",
]

A_ATTN = Formula(
    result=q.a_attn,
    expr=lambda kv_bytes_per_token, n_layers, one_layer, hbm_bw, eff_mem: (
        kv_bytes_per_token * one_layer / (n_layers * hbm_bw * eff_mem)
    ),
    title="Attention time per token that it reads",
    source=f"{PAPER}, equation 26",
    holds="memory-bound; one layer",
)
EXPERT_FLOPS = Formula(
    result=q.expert_flops,
    expr=lambda gated_flops, d_model, d_expert: gated_flops * d_model * d_expert,
    title="FLOPs of a row in an expert",
    source=f"{PAPER}, equation 27",
    holds="SwiGLU experts",
)
EXPERT_ROWS = Formula(
    result=q.expert_rows,
    expr=lambda top_k, token_a_step, n_draft, n_experts: (
        top_k * (token_a_step + n_draft) / n_experts
    ),
    title="Rows that an expert gets, per request",
    source=f"{PAPER}, equation 31",
    holds="experts chosen alike",
    ordered=(("top_k", "n_experts"),),
)
A_FFN = Formula(
    result=q.a_ffn,
    expr=lambda experts_per_card, expert_rows, expert_flops, peak_flops, eff_compute: (
        experts_per_card * expert_rows * expert_flops / (peak_flops * eff_compute)
    ),
    uses=(EXPERT_ROWS, EXPERT_FLOPS),
    title="FFN time per request in the aggregated batch",
    source=f"{PAPER}, equation 33",
    holds="compute-bound; one layer; shared experts not counted",
)
ROW_WIRE_BYTES = Formula(
    result=q.row_wire_bytes,
    expr=lambda bytes_sent, bytes_returned, d_model, one_way_row: (
        (bytes_sent + bytes_returned) * d_model * one_way_row
    ),
    title="Bytes of a row, there and back",
    source=f"{PAPER}, equation 34",
    holds="8 bits on the way to the experts, 16 bits back",
)
A_COMM = Formula(
    result=q.a_comm,
    expr=lambda experts_per_card, expert_rows, row_wire_bytes, link_bw, eff_link: (
        experts_per_card * expert_rows * row_wire_bytes / (link_bw * eff_link)
    ),
    uses=(EXPERT_ROWS, ROW_WIRE_BYTES),
    title="Round trip on the wire per request",
    source=f"{PAPER}, equation 38",
    holds="a card's wire carries the rows of all its experts; one layer",
)
