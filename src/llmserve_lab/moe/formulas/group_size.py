"""How large a group of GPUs: what each holds, reads, computes and sends.

Every GPU serves requests of its own (attention is replicated), and all of them share
one set of routed experts.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.collectives.formulas import TOUCHED_EXPERTS, UNIFORM
from llmserve_lab.formula.derive import ceiling, maximum, solve
from llmserve_lab.formula.formula import Formula
from llmserve_lab.moe.formulas.moe_params import EXPERT_PARAMS

REPLICATED = "attention is replicated, experts are dealt out evenly"
PORTS = "each GPU has a port in its node and one out of it; both work at the same time"

__all__ = [
    "COPIES_S",
    "FAR_COPIES",
    "GPU_WEIGHT_BYTES",
    "GROUP_ROWS",
    "LAYER_COMPUTE_S",
    "LAYER_READ_S",
    "LEAST_EP",
]


def _layer_compute_s(
    flops_per_param: Any,
    expert_params: Any,
    top_k: Any,
    gpu_rows: Any,
    peak_flops: Any,
    eff_compute: Any,
) -> Any:
    flops = flops_per_param * expert_params * top_k * gpu_rows
    return flops / (peak_flops * eff_compute)


def _copies_s(
    copy_start_s: Any,
    one_copy_bytes: Any,
    top_k: Any,
    gpu_rows: Any,
    far_share: Any,
    far_rate: Any,
    near_rate: Any,
    ep: Any,
) -> Any:
    """A start, then all copies that travel through the slower of two ports."""
    near_share = 1 - far_share - 1 / ep  # what stays on its GPU travels nowhere
    slower = maximum(far_share / far_rate, near_share / near_rate)
    return copy_start_s + one_copy_bytes * top_k * gpu_rows * slower


GROUP_ROWS = Formula(
    result=q.n_rows,
    variant="group",
    expr=lambda gpu_rows, ep: gpu_rows * ep,
    title="Rows of the whole group",
    source="counted",
    holds="every GPU has as many rows",
)
GPU_WEIGHT_BYTES = Formula(
    result=q.gpu_weight_bytes,
    expr=lambda routed_bytes, ep, replicated_bytes: (
        routed_bytes / ep + replicated_bytes
    ),
    title="Weights that one GPU holds",
    source="counted",
    holds=REPLICATED,
)
LEAST_EP = Formula(
    result=q.least_ep,
    expr=lambda: ceiling(
        solve(GPU_WEIGHT_BYTES, q.engine_bytes.sympy - q.reserved_bytes.sympy, q.ep)
    ),
    derived=True,
    title="Fewest GPUs on which the experts fit",
    source="solved from [gpu_weight_bytes](#eq-gpu_weight_bytes)",
    holds=f"{REPLICATED}; what is replicated fits beside what is kept",
    ordered=(("replicated_bytes", "engine_bytes"),),
)
LAYER_READ_S = Formula(
    result=q.layer_read_s,
    expr=lambda bytes_weight, expert_params, touched_experts, ep, hbm_bw, eff_mem: (
        bytes_weight * expert_params * touched_experts / (ep * hbm_bw * eff_mem)
    ),
    uses=(EXPERT_PARAMS, TOUCHED_EXPERTS),
    title="Reading the experts of a layer",
    source="bytes over bandwidth",
    holds=f"{UNIFORM}; the mean GPU",
)
LAYER_COMPUTE_S = Formula(
    result=q.layer_compute_s,
    expr=_layer_compute_s,
    uses=(EXPERT_PARAMS,),
    title="Computing the experts of a layer",
    source="FLOPs over peak",
    holds="the mean GPU; every GPU has as many rows",
)
FAR_COPIES = Formula(
    result=q.far_share,
    variant="group",
    expr=lambda node_gpus, ep: maximum(0, 1 - node_gpus / ep),
    title="Share of copies that leave the node",
    source="counted",
    holds="experts spread evenly, routing blind to nodes",
)
COPIES_S = Formula(
    result=q.copies_s,
    expr=_copies_s,
    uses=(FAR_COPIES,),
    title="Time of a dispatch, or of a combine",
    source="Hockney 1994, latency and bandwidth of a message",
    holds=f"{PORTS}; a copy for each expert; the mean GPU",
)
