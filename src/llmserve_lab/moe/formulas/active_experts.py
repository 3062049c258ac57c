"""A row touches k experts; a batch touches nearly all, and every one is read once.

Distinct experts, the bytes and the intensity that follow,
and what is left of the intensity when every expert is cut into slices.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.collectives.formulas import TOUCHED_EXPERTS, UNIFORM
from llmserve_lab.formula.derive import at, limit, solve, symbolic
from llmserve_lab.formula.formula import Formula
from llmserve_lab.moe.formulas.moe_params import (
    EXPERT_PARAMS,
    MOE_ACTIVE,
    ROUTER_PARAMS,
)
from llmserve_lab.roofline.formulas import RIDGE

PARTS = (q.touched_experts, q.expert_params, q.router_params)

__all__ = [
    "EXPERT_INTENSITY",
    "MOE_READ_BYTES",
    "MOE_RIDGE_ROWS",
    "READ_RATIO",
    "ROWS_PER_EXPERT",
    "SLICE_INTENSITY",
    "SLICE_LIMIT",
    "TOUCHED_EXPERTS",
]

MOE_READ_BYTES = Formula(
    result=q.moe_read_bytes,
    expr=lambda bytes_weight, touched_experts, n_shared, expert_params, router_params: (
        bytes_weight * ((touched_experts + n_shared) * expert_params + router_params)
    ),
    uses=(TOUCHED_EXPERTS, EXPERT_PARAMS, ROUTER_PARAMS),
    title="Bytes of an MoE FFN that a batch reads",
    source=(
        "[moe_params](#eq-moe_params) with the experts of "
        "[touched_experts](#eq-touched_experts)"
    ),
    holds=f"{UNIFORM}; each expert is held, and read, once",
)
READ_RATIO = Formula(
    result=q.read_ratio,
    expr=lambda: (
        symbolic(MOE_READ_BYTES, keep=PARTS)
        / (q.bytes_weight.sympy * symbolic(MOE_ACTIVE, keep=PARTS))
    ),
    uses=(TOUCHED_EXPERTS, EXPERT_PARAMS, ROUTER_PARAMS),
    derived=True,
    title="Bytes read over those of the active parameters",
    source="[moe_read_bytes](#eq-moe_read_bytes) over [moe_active](#eq-moe_active)",
    holds=UNIFORM,
)
ROWS_PER_EXPERT = Formula(
    result=q.rows_per_expert,
    expr=lambda n_rows, top_k, n_experts: n_rows * top_k / n_experts,
    title="Mean rows of an expert",
    source="article 07, §5",
    holds="any routing: it is the mean over all routed experts",
    ordered=(("top_k", "n_experts"),),
)
EXPERT_INTENSITY = Formula(
    result=q.expert_intensity,
    expr=lambda flops_per_param, n_rows, top_k, bytes_weight, touched_experts: (
        flops_per_param * n_rows * top_k / (bytes_weight * touched_experts)
    ),
    uses=(TOUCHED_EXPERTS,),
    title="Intensity of the routed experts",
    source="[intensity](#eq-intensity), for experts",
    holds=f"{UNIFORM}; rows cost nothing to read",
)
MOE_RIDGE_ROWS = Formula(
    result=q.moe_ridge_rows,
    expr=lambda: solve(
        at(EXPERT_INTENSITY, keep=(q.touched_experts,), touched_experts=q.n_experts),
        q.ridge,
        q.n_rows,
    ),
    uses=(RIDGE,),
    derived=True,
    title="Rows that bring experts to the ridge",
    source="solved from [expert_intensity](#eq-expert_intensity)",
    holds="all experts are touched, as they are by so many rows",
)


def _slice_intensity(
    flops_per_param: Any,
    matrix_entry: Any,
    rows_per_expert: Any,
    d_model: Any,
    d_expert: Any,
    ep: Any,
    bytes_weight: Any,
    bytes_act: Any,
) -> Any:
    """FLOPs of rows and a slice, over the bytes of the slice, of rows in and out."""
    width = d_expert / ep
    weights = matrix_entry * d_model * width
    return (flops_per_param * rows_per_expert * weights) / (
        bytes_weight * weights + bytes_act * rows_per_expert * (d_model + width)
    )


SLICE_INTENSITY = Formula(
    result=q.slice_intensity,
    expr=_slice_intensity,
    title="Intensity of one matrix of an expert, cut by columns",
    source="[intensity](#eq-intensity), rows counted: read, and written",
    holds="no kernel is fused with its neighbours; everything is read once",
)
SLICE_LIMIT = Formula(
    result=q.slice_limit,
    expr=lambda: limit(SLICE_INTENSITY, q.rows_per_expert, "oo"),
    derived=True,
    title="What no batch raises that intensity above",
    source="limit of [slice_intensity](#eq-slice_intensity)",
    holds="as [slice_intensity](#eq-slice_intensity), rows without end",
)
