"""From the parts to the whole: one step, two ways to overlap, and what users see."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.deepseek.formulas.attention import (
    KERNEL_TIMES,
    MLA_S,
    MODEL,
    root_of_squares,
)
from llmserve_lab.deepseek.formulas.experts import ALL_TO_ALL_S, EXPERTS_S, FLIGHT_S
from llmserve_lab.formula.derive import maximum
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import N_ROWS

__all__ = [
    "ATTN_ELEMENTWISE_S",
    "ATTN_PHASE_S",
    "GPU_TOKENS_PER_S",
    "HALVES_S",
    "HELD_BYTES",
    "HIDDEN_S",
    "MOE_ELEMENTWISE_S",
    "MOE_PHASE_S",
    "OTHER_COMPUTE_S",
    "OTHER_READ_S",
    "OTHER_S",
    "RESIDENT_BYTES",
    "SPLIT",
    "STAGES_S",
    "TURN_S",
    "USER_TOKENS_PER_S",
]


def _moe_elementwise_s(
    n_rows: Any,
    moe_row_bytes: Any,
    moe_copy_bytes: Any,
    top_k: Any,
    balancedness: Any,
    read_rate: Any,
    moe_launches: Any,
    launch_s: Any,
) -> Any:
    moved = n_rows * (moe_row_bytes + moe_copy_bytes * top_k / balancedness)
    return moved / read_rate + moe_launches * launch_s


def _turn_s(
    mla_s: Any,
    attn_elementwise_s: Any,
    experts_s: Any,
    moe_elementwise_s: Any,
    all_to_all_s: Any,
    other_s: Any,
    host_s: Any,
) -> Any:
    attention, experts = mla_s + attn_elementwise_s, experts_s + moe_elementwise_s
    return attention + experts + all_to_all_s + other_s + host_s


def _hidden_s(
    n_batches: Any,
    attn_phase_s: Any,
    moe_phase_s: Any,
    all_to_all_s: Any,
    other_s: Any,
    host_s: Any,
) -> Any:
    busy = maximum(attn_phase_s + moe_phase_s, all_to_all_s)
    return n_batches * (busy + other_s) + host_s


def _stages_s(
    attn_phase_s: Any, moe_phase_s: Any, flight_s: Any, dispatch_share: Any
) -> Any:
    there, back = flight_s * dispatch_share, flight_s * (1 - dispatch_share)
    attention = maximum(attn_phase_s, there) + maximum(attn_phase_s, back)
    return attention + maximum(moe_phase_s, there) + maximum(moe_phase_s, back)


def _halves_s(
    overlap_slowdown: Any,
    stages_s: Any,
    attn_phase_s: Any,
    moe_phase_s: Any,
    flight_s: Any,
    transfer_starts_s: Any,
    other_s: Any,
    host_s: Any,
) -> Any:
    # max + s·min of a stage is (1 - s)·max + s·(the sum of both), and the sums of all
    # four stages are two of everything: two halves.
    everything = 2 * (attn_phase_s + moe_phase_s + flight_s)
    overlapped = (1 - overlap_slowdown) * stages_s + overlap_slowdown * everything
    return overlapped + 2 * (transfer_starts_s + other_s) + host_s


def _resident_bytes(
    bytes_weight: Any,
    mla_params: Any,
    expert_stack: Any,
    local_experts: Any,
    n_shared: Any,
    other_params: Any,
    table_params: Any,
) -> Any:
    return bytes_weight * (
        mla_params
        + expert_stack * (local_experts + n_shared)
        + other_params
        + table_params
    )


OTHER_READ_S = Formula(
    result=q.other_read_s,
    expr=lambda bytes_weight, other_params, read_rate: (
        bytes_weight * other_params / read_rate
    ),
    title="Time that dense layers, router and LM head read",
    source=f"{MODEL}, §3.1.2–3.1.3; the embedding table is only looked up",
    holds="each GPU has its own copy; their rows are left out",
)
OTHER_COMPUTE_S = Formula(
    result=q.other_compute_s,
    expr=lambda flops_per_param, other_params, n_rows, gemm_rate: (
        flops_per_param * other_params * n_rows / gemm_rate
    ),
    uses=(N_ROWS,),
    title="Time that they compute",
    source=f"{MODEL}, §3.2",
    holds="every row meets all of them",
)
OTHER_S = Formula(
    result=q.other_s,
    expr=lambda other_read_s, other_compute_s: root_of_squares(
        other_read_s, other_compute_s
    ),
    uses=(OTHER_READ_S, OTHER_COMPUTE_S),
    title="Dense layers, router, LM head",
    source=KERNEL_TIMES,
    holds="as [attn_gemm_s](#eq-attn_gemm_s)",
)
ATTN_ELEMENTWISE_S = Formula(
    result=q.attn_elementwise_s,
    expr=lambda n_rows, attn_row_bytes, read_rate, attn_launches, launch_s: (
        n_rows * attn_row_bytes / read_rate + attn_launches * launch_s
    ),
    uses=(N_ROWS,),
    title="Elementwise kernels and launches of attention",
    source=f"counted kernel by kernel; {KERNEL_TIMES}",
    holds="no kernel is fused with its neighbour; each starts when the last is through",
)
MOE_ELEMENTWISE_S = Formula(
    result=q.moe_elementwise_s,
    expr=_moe_elementwise_s,
    uses=(N_ROWS,),
    title="Elementwise kernels and launches of the experts",
    source=f"counted kernel by kernel; {KERNEL_TIMES}",
    holds="as [attn_elementwise_s](#eq-attn_elementwise_s); the busiest GPU decides",
)
TURN_S = Formula(
    result=q.turn_s,
    expr=_turn_s,
    uses=(
        MLA_S,
        ATTN_ELEMENTWISE_S,
        EXPERTS_S,
        MOE_ELEMENTWISE_S,
        ALL_TO_ALL_S,
        OTHER_S,
    ),
    title="A step, one thing after another",
    source=f"{MODEL}, (48); elementwise kernels and the host added",
    holds="one batch, nothing overlaps between blocks",
)
SPLIT = Formula(
    result=q.batch,
    expr=lambda gpu_requests, n_batches: gpu_requests / n_batches,
    title="Requests in each batch in flight",
    source=f"{MODEL}, §2.5",
    holds="batches of equal size; half a request is an average",
)
ATTN_PHASE_S = Formula(
    result=q.attn_phase_s,
    expr=lambda mla_s, attn_elementwise_s: mla_s + attn_elementwise_s,
    uses=(MLA_S, ATTN_ELEMENTWISE_S),
    title="One half's time in attention",
    source="one kernel after another",
    holds="all layers together",
)
MOE_PHASE_S = Formula(
    result=q.moe_phase_s,
    expr=lambda experts_s, moe_elementwise_s: experts_s + moe_elementwise_s,
    uses=(EXPERTS_S, MOE_ELEMENTWISE_S),
    title="One half's time in the experts",
    source="one kernel after another",
    holds="all layers together",
)
HIDDEN_S = Formula(
    result=q.hidden_s,
    expr=_hidden_s,
    uses=(ATTN_PHASE_S, MOE_PHASE_S, ALL_TO_ALL_S, OTHER_S),
    title="A step that hides the all-to-alls",
    source=f"{MODEL}, §3 with m = 1 and (49) with m = 2; as [turn_s](#eq-turn_s)",
    holds="one batch computes, another is sent; none waits, none slows the other down",
)
STAGES_S = Formula(
    result=q.stages_s,
    expr=_stages_s,
    uses=(ATTN_PHASE_S, MOE_PHASE_S, FLIGHT_S),
    title="Two halves that wait for each other",
    source="in steady state, each phase of one half beside one transfer of the other",
    holds="compute in the order attention of both halves, experts of both; each "
    "transfer is awaited",
)
HALVES_S = Formula(
    result=q.halves_s,
    expr=_halves_s,
    uses=(STAGES_S, ATTN_PHASE_S, MOE_PHASE_S, FLIGHT_S, OTHER_S),
    title="A step in two halves",
    source="max + s·min in each stage; slowdown as published",
    holds="while one half computes and the other is sent, both take 1 + s times as "
    "long; a transfer's start keeps the GPU busy and is hidden by nothing",
)
USER_TOKENS_PER_S = Formula(
    result=q.user_tokens_per_s,
    expr=lambda accepted, twin_step_s: accepted / twin_step_s,
    title="Tokens per second that a user sees",
    source=f"{MODEL}, (50)",
    holds="steps follow each other without a pause",
)
GPU_TOKENS_PER_S = Formula(
    result=q.gpu_tokens_per_s,
    expr=lambda gpu_requests, user_tokens_per_s: gpu_requests * user_tokens_per_s,
    uses=(USER_TOKENS_PER_S,),
    title="Tokens per second of a GPU",
    source=f"{MODEL}, (51), over the GPUs",
    holds="all requests stay until the end",
)
RESIDENT_BYTES = Formula(
    result=q.resident_bytes,
    expr=_resident_bytes,
    title="Memory that weights take",
    source="counted from the shapes",
    holds="attention, shared expert, dense layers and tables on every GPU",
)
HELD_BYTES = Formula(
    result=q.held_bytes,
    expr=lambda resident_bytes, kv_bytes_per_token, context, gpu_requests: (
        resident_bytes + kv_bytes_per_token * context * gpu_requests
    ),
    uses=(RESIDENT_BYTES,),
    title="Memory that weights and cache take",
    source="counted",
    holds="every request has its whole context in the cache",
)
