"""On a ring nearly the whole tensor leaves every rank, however many ranks there are.

Bytes on the wire and seconds of collectives whose chunks go round a ring, for chunks of
equal size. What they count is :class:`llmserve_lab.collectives.ledger.Ledger`, chunk by
chunk. And ``touched_experts`` and ``row_copies``: the experts that rows meet and the
ranks that a row needs, on which two chapters stand.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import at, minimum, none_drawn, solve
from llmserve_lab.formula.formula import Formula

__all__ = [
    "ALL_REDUCE_BYTES",
    "ALL_REDUCE_S",
    "FASTEST_S",
    "GATHER_BYTES",
    "GATHER_S",
    "IN_SWITCH_S",
    "LATENCY_BYTES",
    "ONE_SHOT_S",
    "ROW_COPIES",
    "TOUCHED_EXPERTS",
    "TWO_SHOT_S",
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
    expr=lambda start_s, n_ranks, link_latency, gather_bytes, link_bw, eff_link: (
        start_s + (n_ranks - 1) * link_latency + gather_bytes / (link_bw * eff_link)
    ),
    uses=(GATHER_BYTES,),
    title="All-gather, reduce-scatter: time",
    source=HOCKNEY,
    holds=ALONE,
)
ALL_REDUCE_S = Formula(
    result=q.all_reduce_s,
    expr=lambda start_s, n_ranks, link_latency, all_reduce_bytes, link_bw, eff_link: (
        start_s
        + 2 * (n_ranks - 1) * link_latency
        + all_reduce_bytes / (link_bw * eff_link)
    ),
    uses=(ALL_REDUCE_BYTES,),
    title="Ring all-reduce: time",
    source=HOCKNEY,
    holds=f"{ALONE}; two ranks or more",
)
ONE_SHOT_S = Formula(
    result=q.one_shot_s,
    expr=lambda start_s, n_ranks, tensor_bytes, link_bw, eff_link: (
        start_s + (n_ranks - 1) * tensor_bytes / (link_bw * eff_link)
    ),
    title="One-shot all-reduce: time",
    source="counted: every rank reads the tensors of all others, and adds them itself",
    holds="two ranks or more, each joined to each; nothing else is on the link",
)
TWO_SHOT_S = Formula(
    result=q.two_shot_s,
    expr=lambda start_s, all_reduce_bytes, link_bw, eff_link: (
        start_s + all_reduce_bytes / (link_bw * eff_link)
    ),
    uses=(ALL_REDUCE_BYTES,),
    title="Two-shot all-reduce: time",
    source="counted: every rank reads and adds its own part of all tensors, then reads "
    "the sums of the others",
    holds="two ranks or more, each joined to each; nothing else is on the link",
)
IN_SWITCH_S = Formula(
    result=q.in_switch_s,
    expr=lambda start_s, tensor_bytes, link_bw, eff_link: (
        start_s + tensor_bytes / (link_bw * eff_link)
    ),
    title="In-switch all-reduce: time",
    source="counted: every rank's tensor goes to the switch once, and one sum returns",
    holds="a switch that adds (NVLink SHARP); nothing else is on the link",
)
FASTEST_S = Formula(
    result=q.fastest_s,
    expr=lambda all_reduce_s, one_shot_s, in_switch_s: minimum(
        all_reduce_s, one_shot_s, in_switch_s
    ),
    title="The fastest of three all-reduces: time",
    source="the fastest of [all_reduce_s](#eq-all_reduce_s), "
    "[one_shot_s](#eq-one_shot_s) and [in_switch_s](#eq-in_switch_s)",
    holds="an engine changes over where the next one becomes faster, or near",
)
LATENCY_BYTES = Formula(
    result=q.latency_bytes,
    expr=lambda: solve(
        at(GATHER_S, link_latency=0, start_s=0),
        at(GATHER_S, tensor_bytes=0),
        q.tensor_bytes,
    ),
    derived=True,
    title="Tensor below which latency is most of the time",
    source="solved from [gather_s](#eq-gather_s)",
    holds=f"{ALONE}; two ranks or more",
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
