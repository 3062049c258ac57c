"""Parameters of a mixture of experts: those stored, and those that one row touches.

A dense FFN is the case of one expert that every row goes to.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.formula import Formula

ARTICLE = "article 07"
NO_BIAS = (
    "SwiGLU experts without biases; the bias that balances the load is not counted"
)

__all__ = [
    "ACTIVE_SHARE",
    "EXPERT_PARAMS",
    "MOE_ACTIVE",
    "MOE_PARAMS",
    "ROUTER_PARAMS",
]

EXPERT_PARAMS = Formula(
    result=q.expert_params,
    expr=lambda ffn_matrices, d_model, d_expert: ffn_matrices * d_model * d_expert,
    title="Parameters of one expert",
    source=f"{ARTICLE}, §1",
    holds="gate, up and down: three matrices; a dense FFN is one wide expert",
)
ROUTER_PARAMS = Formula(
    result=q.router_params,
    expr=lambda router_entry, d_model, n_experts: router_entry * d_model * n_experts,
    title="Parameters of the router",
    source=f"{ARTICLE}, §5",
    holds=NO_BIAS,
)
MOE_PARAMS = Formula(
    result=q.moe_params,
    expr=lambda n_experts, n_shared, expert_params, router_params: (
        (n_experts + n_shared) * expert_params + router_params
    ),
    uses=(EXPERT_PARAMS, ROUTER_PARAMS),
    title="Parameters stored in an MoE FFN",
    source=f"{ARTICLE}, §3",
    holds=NO_BIAS,
)
MOE_ACTIVE = Formula(
    result=q.moe_active,
    expr=lambda top_k, n_shared, expert_params, router_params: (
        (top_k + n_shared) * expert_params + router_params
    ),
    uses=(EXPERT_PARAMS, ROUTER_PARAMS),
    title="Parameters that a row touches",
    source=f"{ARTICLE}, §3",
    holds=NO_BIAS,
)
ACTIVE_SHARE = Formula(
    result=q.active_share,
    expr=lambda moe_active, moe_params: moe_active / moe_params,
    uses=(MOE_ACTIVE, MOE_PARAMS),
    title="Share that a row touches",
    source="[moe_active](#eq-moe_active) over [moe_params](#eq-moe_params)",
    holds="one row; a batch touches more, see [touched_experts](#eq-touched_experts)",
)
