"""An iteration on a group of ranks: work that is shared out, and time that is not.

The form is that of :mod:`llmserve_lab.validation`, fitted to measured servers. The
all-reduces' own time, from measured kernels, lies within what it adds to the work.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.collectives.formulas import ALL_REDUCE_BYTES, ALONE
from llmserve_lab.formula.derive import at
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import (
    ATTN_FLOPS,
    COMPUTE_S,
    KV_S,
    LINEAR_FLOPS,
    STORED_BYTES,
    WEIGHTS_S,
    partly_hidden,
)
from llmserve_lab.tensor_parallel.formulas.traffic import (
    HIDDEN_BYTES,
    KV_COPIES,
    KV_RANK_BYTES,
)

__all__ = [
    "BESIDE_S",
    "CUT_LINEAR_S",
    "CUT_PAIRS_S",
    "LINK_S",
    "LINK_SHARE",
    "RANK_BYTES",
    "RANK_S",
    "REST_S",
    "RING_MORE_S",
    "RING_TP_S",
    "TP_S",
    "TP_SPEEDUP",
]

ALL_CUT = (
    "every matrix is cut, embedding and LM head too; gains of norms, and key and value "
    "projections that are copied with their heads, are small"
)
WORK = (q.linear_s, q.weights_s, q.pairs_s, q.kv_s)
FITTED = "the form that measured servers were fitted with"

CUT_LINEAR_S = Formula(
    result=q.linear_s,
    expr=lambda: at(COMPUTE_S, keep=(q.iteration_flops,), iteration_flops=LINEAR_FLOPS),
    derived=True,
    variant="cut",
    title="Time of the linear layers, on one rank",
    source="[compute_s](#eq-compute_s), its first part",
    holds="memory keeps up",
)
CUT_PAIRS_S = Formula(
    result=q.pairs_s,
    expr=lambda: at(COMPUTE_S, keep=(q.iteration_flops,), iteration_flops=ATTN_FLOPS),
    derived=True,
    variant="cut",
    title="Time of attention's arithmetic, on one rank",
    source="[compute_s](#eq-compute_s), its second part",
    holds="memory keeps up",
)
RANK_S = Formula(
    result=q.rank_s,
    expr=lambda linear_s, weights_s, overlap, pairs_s, kv_copies, kv_s, n_ranks: (
        (partly_hidden(linear_s, weights_s, overlap) + pairs_s + kv_copies * kv_s)
        / n_ranks
    ),
    uses=(CUT_LINEAR_S, WEIGHTS_S, CUT_PAIRS_S, KV_COPIES, KV_S),
    title="The work of one rank",
    source=f"{FITTED}, shared out",
    holds=f"{ALL_CUT}; the pieces run as efficiently as the whole",
)
LINK_S = Formula(
    result=q.link_s,
    expr=lambda all_reduces_per_layer, n_layers, fastest_s: (
        all_reduces_per_layer * n_layers * fastest_s
    ),
    title="Time of all all-reduces",
    source="two for each layer",
    holds="column-parallel, then row-parallel; nothing overlaps them",
)
BESIDE_S = Formula(
    result=q.beside_s,
    expr=lambda: (
        q.launches.sympy * q.n_layers.sympy * q.layer_s.sympy
        + q.batch.sympy * q.request_s.sympy
        + q.all_reduces_per_layer.sympy
        * q.n_layers.sympy
        * at(ALL_REDUCE_BYTES, tensor_bytes=q.hidden_bytes)
        / (q.link_bw.sympy * q.eff_link.sympy)
    ),
    uses=(HIDDEN_BYTES,),
    derived=True,
    title="Overhead: the time added to a rank's work",
    source=FITTED,
    holds=f"{ALONE}; the latency of the all-reduces is in the time of a layer",
)
TP_S = Formula(
    result=q.tp_s,
    expr=lambda rank_s, beside_s: rank_s + beside_s,
    uses=(RANK_S, BESIDE_S),
    title="An iteration on all ranks",
    source="[rank_s](#eq-rank_s) and [beside_s](#eq-beside_s)",
    holds="ranks wait for each all-reduce: nothing overlaps it",
)
REST_S = Formula(
    result=q.rest_s,
    expr=lambda beside_s, link_s: beside_s - link_s,
    uses=(BESIDE_S, LINK_S),
    title="The rest of the overhead",
    source="[beside_s](#eq-beside_s) without [link_s](#eq-link_s)",
    holds="as [tp_s](#eq-tp_s); the servers fitted did their all-reduces the fastest "
    "way",
    ordered=(("link_s", "beside_s"),),
)
RING_MORE_S = Formula(
    result=q.ring_more_s,
    expr=lambda all_reduces_per_layer, n_layers, all_reduce_s, fastest_s: (
        all_reduces_per_layer * n_layers * (all_reduce_s - fastest_s)
    ),
    title="What NCCL would take more",
    source="[all_reduce_s](#eq-all_reduce_s) in place of [fastest_s](#eq-fastest_s)",
    holds="column-parallel, then row-parallel; nothing overlaps them",
    ordered=(("fastest_s", "all_reduce_s"),),
)
RING_TP_S = Formula(
    result=q.ring_tp_s,
    expr=lambda tp_s, ring_more_s: tp_s + ring_more_s,
    uses=(TP_S, RING_MORE_S),
    title="The same, if NCCL did every all-reduce",
    source="[tp_s](#eq-tp_s) and [ring_more_s](#eq-ring_more_s)",
    holds="as [tp_s](#eq-tp_s)",
)
LINK_SHARE = Formula(
    result=q.link_share,
    expr=lambda link_s, tp_s: link_s / tp_s,
    uses=(LINK_S, TP_S),
    title="Share of the all-reduces",
    source="[link_s](#eq-link_s) over [tp_s](#eq-tp_s)",
    holds="as [tp_s](#eq-tp_s)",
)
TP_SPEEDUP = Formula(
    result=q.tp_speedup,
    expr=lambda: at(TP_S, keep=WORK, n_ranks=1) / q.tp_s.sympy,
    uses=(CUT_LINEAR_S, WEIGHTS_S, CUT_PAIRS_S, KV_S, TP_S),
    derived=True,
    title="Speed-up over one rank",
    source="[tp_s](#eq-tp_s) for one rank over that for all",
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
