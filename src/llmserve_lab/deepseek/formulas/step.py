"""From the parts to the whole: one step, two ways to overlap, and what users see."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.deepseek.formulas.attention import KERNEL_TIMES, MLA_S, MODEL
from llmserve_lab.deepseek.formulas.experts import EXPERTS_S, WIRE_S
from llmserve_lab.formula.derive import maximum
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import N_ROWS

__all__ = [
    "GPU_TOKENS_PER_S",
    "HELD_BYTES",
    "HIDDEN_S",
    "PASS_BYTES",
    "PASS_S",
    "RESIDENT_BYTES",
    "REST_S",
    "SPLIT",
    "TURN_S",
    "USER_TOKENS_PER_S",
]


def _rest_s(
    bytes_weight: Any,
    rest_params: Any,
    read_rate: Any,
    flops_per_param: Any,
    n_rows: Any,
    gemm_rate: Any,
) -> Any:
    return maximum(
        bytes_weight * rest_params / read_rate,
        flops_per_param * rest_params * n_rows / gemm_rate,
    )


def _resident_bytes(
    bytes_weight: Any,
    mla_params: Any,
    expert_stack: Any,
    local_experts: Any,
    n_shared: Any,
    rest_params: Any,
    table_params: Any,
) -> Any:
    return bytes_weight * (
        mla_params
        + expert_stack * (local_experts + n_shared)
        + rest_params
        + table_params
    )


REST_S = Formula(
    result=q.rest_s,
    expr=_rest_s,
    uses=(N_ROWS,),
    title="Dense layers, router, LM head",
    source=f"{MODEL}, §3.1.2–3.1.3; the embedding table is only looked up",
    holds="each GPU has its own copy",
)
PASS_BYTES = Formula(
    result=q.pass_bytes,
    expr=lambda n_rows, row_pass_bytes, copy_pass_bytes, top_k, balancedness: (
        n_rows * (row_pass_bytes + copy_pass_bytes * top_k / balancedness)
    ),
    uses=(N_ROWS,),
    title="Bytes that rows move between the products",
    source="counted kernel by kernel",
    holds="no kernel is fused with its neighbour; the busiest GPU decides",
)
PASS_S = Formula(
    result=q.pass_s,
    expr=lambda pass_bytes, read_rate, n_kernels, start_s: (
        pass_bytes / read_rate + n_kernels * start_s
    ),
    uses=(PASS_BYTES,),
    title="Time between the products",
    source=KERNEL_TIMES,
    holds="each kernel starts when the one before it is through",
)
TURN_S = Formula(
    result=q.turn_s,
    expr=lambda mla_s, experts_s, pass_s, wire_s, rest_s: (
        mla_s + experts_s + pass_s + wire_s + rest_s
    ),
    uses=(MLA_S, EXPERTS_S, PASS_S, WIRE_S, REST_S),
    title="A step, one thing after another",
    source=f"{MODEL}, (48); the time between products added",
    holds="one batch, nothing overlaps between blocks",
)
SPLIT = Formula(
    result=q.batch,
    expr=lambda gpu_requests, n_batches: gpu_requests / n_batches,
    variant="in_flight",
    title="Requests in each batch in flight",
    source=f"{MODEL}, §2.5",
    holds="batches of equal size; half a request is an average",
)
HIDDEN_S = Formula(
    result=q.hidden_s,
    expr=lambda n_batches, mla_s, experts_s, pass_s, wire_s, rest_s: (
        n_batches * (maximum(mla_s + experts_s + pass_s, wire_s) + rest_s)
    ),
    uses=(MLA_S, EXPERTS_S, PASS_S, WIRE_S, REST_S),
    title="A step that hides the wire",
    source=f"{MODEL}, §3 with m = 1 and (49) with m = 2; as [turn_s](#eq-turn_s)",
    holds="one batch computes, another is on the wire; each reads all weights",
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
