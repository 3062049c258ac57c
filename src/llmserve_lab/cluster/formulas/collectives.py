"""On a ring nearly the whole tensor leaves every rank, however many ranks there are.

Bytes on the wire and seconds of collectives whose chunks go round a ring, for chunks of
equal size. What they count is :class:`llmserve_lab.cluster.ledger.Ledger`, chunk by
chunk. And ``touched_experts`` and ``row_copies``: the experts that rows meet and the
ranks that a row needs, on which two chapters stand.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import at, none_drawn, solve
from llmserve_lab.formula.formula import Formula

__all__ = [
    "ALL_REDUCE_BYTES",
    "ALL_REDUCE_S",
    "GATHER_BYTES",
    "GATHER_S",
    "LATENCY_BYTES",
    "ROW_COPIES",
    "TOUCHED_EXPERTS",
]

RING = "Patarasuk and Yuan 2009, section 3"
HOCKNEY = "Hockney 1994, latency and bandwidth of a message"
UNIFORM = "every row chooses k different experts at random, whatever the others choose"
EQUAL = "ring algorithm, the tensor cut into equal chunks"
ALONE = f"{EQUAL}; nothing else is on the link, no rank is late"

GATHER_BYTES = Formula(
    result=q.gather_bytes,
    expr=lambda n_ranks, tensor_bytes: (n_ranks - 1) / n_ranks * tensor_bytes,
    title="All-gather, reduce-scatter: bytes that leave a rank",
    source=RING,
    holds=f"{EQUAL}; also an all-to-all with equal counts, and the mean over the ranks "
    "of a pipelined broadcast",
)
ALL_REDUCE_BYTES = Formula(
    result=q.all_reduce_bytes,
    expr=lambda gather_bytes: 2 * gather_bytes,
    uses=(GATHER_BYTES,),
    title="All-reduce: bytes that leave a rank",
    source=RING,
    holds=EQUAL,
)
GATHER_S = Formula(
    result=q.gather_s,
    expr=lambda n_ranks, link_latency, gather_bytes, link_bw, eff_link: (
        (n_ranks - 1) * link_latency + gather_bytes / (link_bw * eff_link)
    ),
    uses=(GATHER_BYTES,),
    title="All-gather, reduce-scatter: time",
    source=HOCKNEY,
    holds=ALONE,
)
ALL_REDUCE_S = Formula(
    result=q.all_reduce_s,
    expr=lambda gather_s: 2 * gather_s,
    uses=(GATHER_S,),
    title="All-reduce: time",
    source=HOCKNEY,
    holds=ALONE,
)
LATENCY_BYTES = Formula(
    result=q.latency_bytes,
    expr=lambda: solve(
        at(GATHER_S, link_latency=0), at(GATHER_S, tensor_bytes=0), q.tensor_bytes
    ),
    derived=True,
    title="Tensor below which latency is most of the time",
    source="solved from [gather_s](#eq-gather_s)",
    holds=f"{ALONE}; two ranks or more; the same for an all-reduce",
)
ROW_COPIES = Formula(
    result=q.row_copies,
    expr=lambda ep, n_experts, top_k: (
        ep * (1 - none_drawn(n_experts, n_experts / ep, top_k))
    ),
    title="Copies of a row, one for each rank that it needs",
    source="expectation: a rank is missed by all of the row's experts or it is not",
    holds=f"{UNIFORM}; equally many experts on each rank; with a copy for each expert "
    "it is k instead",
    ordered=(("top_k", "n_experts"), ("ep", "n_experts")),
)
TOUCHED_EXPERTS = Formula(
    result=q.touched_experts,
    expr=lambda n_experts, top_k, draw_per_row, n_rows: (
        n_experts * (1 - (1 - top_k / n_experts) ** (draw_per_row * n_rows))
    ),
    title="Distinct experts that a batch touches",
    source="expectation: an expert is missed by all rows or it is not",
    holds=UNIFORM,
    ordered=(("top_k", "n_experts"),),
)
