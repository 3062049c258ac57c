"""What the ranks of a block send each other: four gathers, two all-reduces, or three.

One rank's share of the bytes follows from the ring's ``gather_bytes``
and ``all_reduce_bytes`` by substitution.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.collectives.formulas import ALL_REDUCE_BYTES, EQUAL, GATHER_BYTES
from llmserve_lab.formula.derive import at, maximum, solve, symbolic
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import KV_READ_BYTES, N_ROWS

ARTICLE = "article 03"

__all__ = [
    "GATHERED_BYTES",
    "GATHERED_TENSOR_BYTES",
    "HIDDEN_BYTES",
    "KV_COPIES",
    "KV_RANK_BYTES",
    "PAIRED_BYTES",
    "PAIRED_SHARE",
    "SCORE_BYTES",
    "SCORE_ROWS",
]

HIDDEN_BYTES = Formula(
    result=q.hidden_bytes,
    expr=lambda bytes_act, n_rows, d_model: bytes_act * n_rows * d_model,
    uses=(N_ROWS,),
    title="Bytes of the token vectors",
    source=f"{ARTICLE}, §1",
    holds="one row for each token",
)
GATHERED_TENSOR_BYTES = Formula(
    result=q.gathered_tensor_bytes,
    expr=lambda bytes_act, n_rows, one_query, n_heads, d_head, d_model, d_ff: (
        bytes_act * n_rows * (one_query * n_heads * d_head + 2 * d_model + d_ff)
    ),
    uses=(N_ROWS,),
    title="Tensors gathered in a block, columns everywhere",
    source=f"{ARTICLE}, §2",
    holds="before and after the output projection, before and after FFN-down",
)
GATHERED_BYTES = Formula(
    result=q.gathered_bytes,
    expr=lambda: at(GATHER_BYTES, tensor_bytes=q.gathered_tensor_bytes),
    uses=(GATHERED_TENSOR_BYTES,),
    derived=True,
    title="Bytes that leave a rank, columns everywhere",
    source=(
        "[gather_bytes](#eq-gather_bytes) with "
        "[gathered_tensor_bytes](#eq-gathered_tensor_bytes)"
    ),
    holds=f"{EQUAL}; one block",
)
PAIRED_BYTES = Formula(
    result=q.paired_bytes,
    expr=lambda: 2 * at(ALL_REDUCE_BYTES, tensor_bytes=q.hidden_bytes),
    uses=(HIDDEN_BYTES,),
    derived=True,
    title="Bytes that leave a rank, columns, then rows",
    source=(
        "[all_reduce_bytes](#eq-all_reduce_bytes), twice, with "
        "[hidden_bytes](#eq-hidden_bytes)"
    ),
    holds=f"{EQUAL}; one block",
)
PAIRED_SHARE = Formula(
    result=q.paired_share,
    expr=lambda: (symbolic(PAIRED_BYTES) / symbolic(GATHERED_BYTES)).cancel(),
    derived=True,
    title="Bytes of columns, then rows over columns everywhere",
    source="[paired_bytes](#eq-paired_bytes) over [gathered_bytes](#eq-gathered_bytes)",
    holds="two ranks or more; how many does not matter",
)
SCORE_BYTES = Formula(
    result=q.score_bytes,
    expr=lambda bytes_act, one_score, n_heads, n_rows: (
        bytes_act * one_score * n_heads * n_rows**2
    ),
    uses=(N_ROWS,),
    title="Scores that a cut through heads must add up",
    source=f"{ARTICLE}, §6",
    holds="one request, nothing in the cache, masked scores sent too",
)
SCORE_ROWS = Formula(
    result=q.score_rows,
    expr=lambda: solve(
        symbolic(SCORE_BYTES, keep=(q.n_rows,)) / q.n_rows.sympy,
        2 * symbolic(HIDDEN_BYTES, keep=(q.n_rows,)) / q.n_rows.sympy,
        q.n_rows,
    ),
    derived=True,
    title="Rows from which the scores outweigh the rest",
    source=(
        "solved from [hidden_bytes](#eq-hidden_bytes) and "
        "[score_bytes](#eq-score_bytes)"
    ),
    holds="one request, nothing in the cache",
)
KV_COPIES = Formula(
    result=q.kv_copies,
    expr=lambda one_head, n_ranks, n_kv_heads: maximum(
        1, one_head * n_ranks / n_kv_heads
    ),
    title="Copies of each key–value head",
    source="counted",
    holds="ranks divide the key–value heads, or the other way round",
)
KV_RANK_BYTES = Formula(
    result=q.kv_rank_bytes,
    expr=lambda kv_read_bytes, kv_copies, n_ranks: kv_read_bytes * kv_copies / n_ranks,
    uses=(KV_READ_BYTES, KV_COPIES),
    title="KV bytes that one rank holds",
    source="counted",
    holds="grouped-query attention; ranks divide the query heads",
)
