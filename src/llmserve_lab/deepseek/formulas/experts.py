"""Experts: how many a GPU has to read, what they compute, and what is sent to them."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.collectives.formulas import TOUCHED_EXPERTS
from llmserve_lab.deepseek.formulas.attention import (
    KERNEL_TIMES,
    MODEL,
    root_of_squares,
)
from llmserve_lab.formula.derive import at, ceiling, maximum, minimum
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import N_ROWS

__all__ = [
    "ALL_TO_ALL_BYTES",
    "ALL_TO_ALL_S",
    "BUSIEST_EXPERTS",
    "EXPERTS_S",
    "EXPERT_BYTES",
    "EXPERT_COMPUTE_S",
    "EXPERT_READ_S",
    "FAR_SHARE",
    "FLIGHT_S",
    "LOCAL_EXPERTS",
    "NODES",
    "READ_EXPERTS",
]


def _expert_compute_s(
    flops_per_param: Any,
    expert_stack: Any,
    n_rows: Any,
    top_k: Any,
    balancedness: Any,
    n_shared: Any,
    gemm_rate: Any,
) -> Any:
    return (
        flops_per_param
        * expert_stack
        * n_rows
        * (top_k / balancedness + n_shared)
        / gemm_rate
    )


def _expert_bytes(
    bytes_weight: Any,
    expert_stack: Any,
    read_experts: Any,
    n_shared: Any,
    all_to_all_bytes: Any,
    n_rows: Any,
    moe_gemm_row_bytes: Any,
    moe_gemm_copy_bytes: Any,
    top_k: Any,
    balancedness: Any,
) -> Any:
    weights = bytes_weight * expert_stack * (read_experts + n_shared)
    rows = moe_gemm_row_bytes + moe_gemm_copy_bytes * top_k / balancedness
    return weights + all_to_all_bytes + n_rows * rows


def _spread(mean: Any, bins: Any) -> Any:
    """How far the fullest of ``bins`` stands out, asymptotically."""
    import sympy

    return sympy.sqrt(2 * mean * sympy.log(bins))


LOCAL_EXPERTS = Formula(
    result=q.local_experts,
    expr=lambda n_experts, n_redundant, ep: ceiling((n_experts + n_redundant) / ep),
    title="Routed experts on one GPU",
    source=f"{MODEL}, §3.1.2",
    holds="experts and copies dealt out in turn; the fullest GPU's",
)
NODES = Formula(
    result=q.n_nodes,
    expr=lambda ep, node_gpus: ceiling(ep / node_gpus),
    title="Nodes of the group",
    source="counted",
    holds="a group takes as few nodes as hold it, as many of its GPUs in each",
)
READ_EXPERTS = Formula(
    result=q.read_experts,
    expr=lambda: (
        q.local_experts.sympy
        / q.n_experts.sympy
        * at(TOUCHED_EXPERTS, n_rows=q.n_rows.sympy * q.ep.sympy)
    ),
    uses=(N_ROWS,),
    derived=True,
    title="Experts of one GPU that are touched",
    source="[touched_experts](#eq-touched_experts) for the rows of all GPUs; for all "
    f"experts {MODEL}, §3.1.2",
    holds="every row draws its experts evenly; a copy counts as an expert of its own",
)
BUSIEST_EXPERTS = Formula(
    result=q.busiest_experts,
    expr=lambda local_experts, read_experts, ep: minimum(
        local_experts, read_experts + _spread(read_experts, ep)
    ),
    uses=(READ_EXPERTS,),
    title="The busiest GPU, as balls in bins",
    source=f"{MODEL}, §3.1.2, cut off at what a GPU holds",
    holds="an estimate: balls fall anywhere, but experts have places",
)
ALL_TO_ALL_BYTES = Formula(
    result=q.all_to_all_bytes,
    expr=lambda copy_bytes, dispatched_copies, n_rows, balancedness: (
        copy_bytes * dispatched_copies * n_rows / balancedness
    ),
    uses=(N_ROWS,),
    title="Bytes through the busiest GPU's ports",
    source=f"{MODEL}, §3.3.3",
    holds="each GPU sends its rows and receives those of others; the busiest decides",
)
FAR_SHARE = Formula(
    result=q.far_share,
    expr=lambda n_nodes: 1 - 1 / n_nodes,
    title="Share of copies that leave the node",
    source=f"{MODEL}, §3.3.2",
    holds="equally many GPUs in every node, routing blind to nodes",
)
FLIGHT_S = Formula(
    result=q.flight_s,
    expr=lambda all_to_all_bytes, far_share, far_rate, near_rate: maximum(
        all_to_all_bytes * far_share / far_rate,
        all_to_all_bytes * (1 - far_share) / near_rate,
    ),
    uses=(ALL_TO_ALL_BYTES, FAR_SHARE),
    title="Time that dispatch and combine are under way",
    source=f"{MODEL}, §3.3.2",
    holds="both networks work at the same time",
)
ALL_TO_ALL_S = Formula(
    result=q.all_to_all_s,
    expr=lambda transfer_starts_s, flight_s: transfer_starts_s + flight_s,
    uses=(FLIGHT_S,),
    title="Time of the all-to-alls",
    source="DeepEP 2025, twelve published times",
    holds="each dispatch and each combine has a start before its first byte",
)
EXPERT_BYTES = Formula(
    result=q.expert_bytes,
    expr=_expert_bytes,
    uses=(READ_EXPERTS, ALL_TO_ALL_BYTES, N_ROWS),
    title="Bytes that the experts' GEMMs read and write",
    source=f"{MODEL}, §3.1.2; rows between the GEMMs added",
    holds="weights once; what arrives is read, what leaves is written, once each",
)
EXPERT_READ_S = Formula(
    result=q.expert_read_s,
    expr=lambda expert_bytes, read_rate: expert_bytes / read_rate,
    uses=(EXPERT_BYTES,),
    title="Time experts read",
    source=f"{MODEL}, §3.5",
    holds="compute keeps up",
)
EXPERT_COMPUTE_S = Formula(
    result=q.expert_compute_s,
    expr=_expert_compute_s,
    uses=(N_ROWS,),
    title="Time experts compute",
    source=f"{MODEL}, §3.2.4",
    holds="every GPU has its own shared expert",
)
EXPERTS_S = Formula(
    result=q.experts_s,
    expr=lambda expert_read_s, expert_compute_s: root_of_squares(
        expert_read_s, expert_compute_s
    ),
    uses=(EXPERT_READ_S, EXPERT_COMPUTE_S),
    title="Time of the experts",
    source=KERNEL_TIMES,
    holds="as [attn_gemm_s](#eq-attn_gemm_s)",
)
