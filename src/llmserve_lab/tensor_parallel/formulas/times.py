"""More ranks share the work, and none of the waiting: the roofline with links."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.cluster.formulas import ALL_REDUCE_S, ALONE
from llmserve_lab.formula.derive import at, maximum
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import (
    COMPUTE_S,
    ITERATION_S,
    KV_S,
    STORED_BYTES,
    WEIGHTS_S,
)
from llmserve_lab.tensor_parallel.formulas.traffic import (
    HIDDEN_BYTES,
    KV_COPIES,
    KV_RANK_BYTES,
)

__all__ = ["LINK_S", "LINK_SHARE", "RANK_BYTES", "RANK_S", "TP_S", "TP_SPEEDUP"]

ALL_CUT = (
    "every matrix is cut, embedding and LM head too; gains of norms, and key and value "
    "projections that are copied with their heads, are small"
)

RANK_S = Formula(
    result=q.rank_s,
    expr=lambda compute_s, weights_s, kv_copies, kv_s, n_ranks: (
        maximum(compute_s, weights_s + kv_copies * kv_s) / n_ranks
    ),
    uses=(COMPUTE_S, WEIGHTS_S, KV_COPIES, KV_S),
    title="An iteration on one rank, alone",
    source="[iteration_s](#eq-iteration_s), shared out",
    holds=f"{ALL_CUT}; the pieces run as efficiently as the whole",
)
LINK_S = Formula(
    result=q.link_s,
    expr=lambda: (
        q.all_reduces_per_layer.sympy
        * q.n_layers.sympy
        * at(ALL_REDUCE_S, tensor_bytes=q.hidden_bytes)
    ),
    uses=(HIDDEN_BYTES,),
    derived=True,
    title="Time of all all-reduces",
    source="[all_reduce_s](#eq-all_reduce_s), two for each layer",
    holds=f"{ALONE}; A then B",
)
TP_S = Formula(
    result=q.tp_s,
    expr=lambda rank_s, link_s: rank_s + link_s,
    uses=(RANK_S, LINK_S),
    title="An iteration on all ranks",
    source="[rank_s](#eq-rank_s) and [link_s](#eq-link_s)",
    holds="ranks wait for each all-reduce: nothing overlaps it",
)
LINK_SHARE = Formula(
    result=q.link_share,
    expr=lambda link_s, tp_s: link_s / tp_s,
    uses=(LINK_S, TP_S),
    title="Share of communication",
    source="[link_s](#eq-link_s) over [tp_s](#eq-tp_s)",
    holds="as [tp_s](#eq-tp_s)",
)
TP_SPEEDUP = Formula(
    result=q.tp_speedup,
    expr=lambda iteration_s, tp_s: iteration_s / tp_s,
    uses=(ITERATION_S, TP_S),
    title="What the ranks gain",
    source="[iteration_s](#eq-iteration_s) over [tp_s](#eq-tp_s)",
    holds="as [tp_s](#eq-tp_s); one rank could hold the model",
)
RANK_BYTES = Formula(
    result=q.rank_bytes,
    expr=lambda stored_bytes, n_ranks, kv_rank_bytes: (
        stored_bytes / n_ranks + kv_rank_bytes
    ),
    uses=(STORED_BYTES, KV_RANK_BYTES),
    title="What one rank holds",
    source=(
        "[stored_bytes](roofline.ipynb#eq-stored_bytes) shared out, and "
        "[kv_rank_bytes](#eq-kv_rank_bytes)"
    ),
    holds=f"{ALL_CUT}; before the new tokens leave their entries",
)
