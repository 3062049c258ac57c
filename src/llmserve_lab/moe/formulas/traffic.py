"""Rows travel to weights: what leaves a rank in one block, for three layouts.

n rows are in the whole group of ranks, n/g on each of them.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.collectives.formulas import ALL_REDUCE_BYTES, GATHER_BYTES, ROW_COPIES
from llmserve_lab.formula.derive import at
from llmserve_lab.formula.formula import Formula
from llmserve_lab.moe.formulas.moe_params import ARTICLE

__all__ = [
    "COMPOSED_BYTES",
    "EP_BYTES",
    "FFN_TP_BYTES",
    "ROW_COPIES",
    "ROW_OUT_BYTES",
    "SP_BYTES",
    "TP_BLOCK_BYTES",
]

ROW_OUT_BYTES = Formula(
    result=q.row_out_bytes,
    expr=lambda bytes_act, d_model, row_copies: bytes_act * d_model * row_copies,
    uses=(ROW_COPIES,),
    title="Bytes of all copies of a row",
    source=f"{ARTICLE}, §5, one copy there",
    holds="copies that stay on their own rank included",
)
EP_BYTES = Formula(
    result=q.ep_bytes,
    expr=lambda bytes_act, d_model, n_rows, ep, row_copies: (
        2 * bytes_act * d_model * (n_rows / ep) * row_copies * ((ep - 1) / ep)
    ),
    uses=(ROW_COPIES,),
    title="Dispatch and combine: bytes that leave a rank",
    source=f"{ARTICLE}, §5, counted",
    holds="ranks are chosen alike; what comes back is as wide as what went out",
)
FFN_TP_BYTES = Formula(
    result=q.ffn_tp_bytes,
    expr=lambda: at(
        ALL_REDUCE_BYTES,
        n_ranks=q.ep,
        tensor_bytes=q.bytes_act.sympy * q.d_model.sympy * q.n_rows.sympy,
    ),
    derived=True,
    title="Every expert sliced: bytes that leave a rank",
    source="[all_reduce_bytes](#eq-all_reduce_bytes)",
    holds="one all-reduce for the sum over all experts",
)
TP_BLOCK_BYTES = Formula(
    result=q.tp_block_bytes,
    expr=lambda ffn_tp_bytes: 2 * ffn_tp_bytes,
    uses=(FFN_TP_BYTES,),
    title="TP alone: bytes that leave a rank in a block",
    source="one all-reduce after each half",
    holds="attention and experts cut over all ranks",
)
SP_BYTES = Formula(
    result=q.sp_bytes,
    expr=lambda: (
        2
        * at(
            GATHER_BYTES,
            n_ranks=q.tp,
            tensor_bytes=q.bytes_act.sympy
            * q.d_model.sympy
            * (q.n_rows.sympy * q.tp.sympy / q.ep.sympy),
        )
    ),
    derived=True,
    ordered=(("tp", "ep"),),
    title="All-gather and reduce-scatter: bytes that leave a rank",
    source=(
        "[gather_bytes](#eq-gather_bytes), twice, in a group with its share of the rows"
    ),
    holds="groups of equal size with equally many rows",
)
COMPOSED_BYTES = Formula(
    result=q.composed_bytes,
    expr=lambda sp_bytes, ep_bytes: sp_bytes + ep_bytes,
    uses=(SP_BYTES, EP_BYTES),
    title="TP × EP × SP: bytes that leave a rank in a block",
    source=f"{ARTICLE}, §6, counted",
    holds="as [ep_bytes](#eq-ep_bytes) and [sp_bytes](#eq-sp_bytes)",
)
