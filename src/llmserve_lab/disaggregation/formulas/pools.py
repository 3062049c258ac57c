"""How many GPUs for each phase: work that arrives over work that one does."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.disaggregation.formulas.kv_transfer import (
    ARTICLE,
    FITTED,
    HANDOFF_BYTES,
    PREFILL_EACH_S,
    TRANSFER_S,
)
from llmserve_lab.formula.derive import at, maximum, minimum, solve
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import (
    ATTN_FLOPS,
    COMPUTE_S,
    KV_S,
    LINEAR_FLOPS,
    WEIGHT_BYTES,
    WEIGHTS_S,
    partly_hidden,
)

__all__ = [
    "ARITH_BATCH",
    "DECODE_BATCH",
    "DECODE_GPUS",
    "DECODE_GPU_S",
    "DECODE_S",
    "DECODE_STEPS",
    "DECODE_STEP_S",
    "FREE_ROWS",
    "HANDOFF_PER_S",
    "MEAN_CONTEXT",
    "POOL_RATIO",
    "PREFILL_GPUS",
    "ROOM_BATCH",
    "ROW_S",
    "STEP_OWN_S",
    "STEP_PAIRS_S",
    "STEP_READ_S",
    "TBT_BATCH",
]

DECODE_STEPS = Formula(
    result=q.decode_steps,
    expr=lambda new_tokens, token_a_step: new_tokens / token_a_step - 1,
    title="Decode steps of a request",
    source="counted: the prefill computes the first token",
    holds="one token a step",
)
MEAN_CONTEXT = Formula(
    result=q.mean_context,
    expr=lambda prompt_len, new_tokens, own_row: prompt_len + new_tokens / 2 - own_row,
    title="Mean context of a decode step",
    source="counted",
    holds="at least one decode step",
)
STEP_READ_S = Formula(
    result=q.step_read_s,
    expr=lambda: at(KV_S, batch=q.one_request, context=q.mean_context),
    uses=(MEAN_CONTEXT,),
    derived=True,
    title="Reading the cache of one request, in one step",
    source="[kv_s](#eq-kv_s), one request in the middle of its answer",
    holds="no part of it is shared with another request",
)
ROW_S = Formula(
    result=q.row_s,
    expr=lambda: (
        at(LINEAR_FLOPS, batch=q.one_request, chunk=q.own_row)
        / (q.peak_flops.sympy * q.eff_compute.sympy)
    ),
    derived=True,
    title="Time of the linear layers for one row",
    source="[compute_s](#eq-compute_s), its first part",
    holds="memory keeps up",
)
STEP_PAIRS_S = Formula(
    result=q.step_pairs_s,
    expr=lambda: (
        at(ATTN_FLOPS, batch=q.one_request, chunk=q.own_row, context=q.mean_context)
        / (q.peak_flops.sympy * q.eff_compute.sympy)
    ),
    uses=(MEAN_CONTEXT,),
    derived=True,
    title="Attention arithmetic of one request, in one step",
    source="[compute_s](#eq-compute_s), its second part",
    holds="one row, in the middle of the answer",
)
STEP_OWN_S = Formula(
    result=q.step_own_s,
    expr=lambda step_pairs_s, step_read_s, one_request, request_s: (
        step_pairs_s + step_read_s + one_request * request_s
    ),
    uses=(STEP_PAIRS_S, STEP_READ_S),
    title="What one request adds to a decode step by itself",
    source="its attention, computed and read, and its time on the host",
    holds="attention's kernels run between the products and hide behind nothing",
)


def _read_batch(
    one_request: Any,
    tpot_target: Any,
    overhead_s: Any,
    weights_s: Any,
    step_own_s: Any,
    overlap: Any,
    row_s: Any,
) -> Any:
    """What is left of the target over what one request adds."""
    return (
        one_request
        * maximum(0, tpot_target - overhead_s - weights_s)
        / (step_own_s + (1 - overlap) * row_s)
    )


TBT_BATCH = Formula(
    result=q.tbt_batch,
    expr=_read_batch,
    uses=(WEIGHTS_S, STEP_OWN_S, ROW_S),
    title="Batch that keeps the target, as far as reading goes",
    source="[decode_step_s](#eq-decode_step_s) solved, the weights being the longer",
    holds="a target too short to read the weights leaves no request",
)


def _arith_batch(
    one_request: Any,
    tpot_target: Any,
    overhead_s: Any,
    overlap: Any,
    weights_s: Any,
    step_own_s: Any,
    row_s: Any,
) -> Any:
    """The same, the rows being the longer."""
    return (
        one_request
        * maximum(0, tpot_target - overhead_s - (1 - overlap) * weights_s)
        / (step_own_s + row_s)
    )


ARITH_BATCH = Formula(
    result=q.arith_batch,
    expr=_arith_batch,
    uses=(WEIGHTS_S, STEP_OWN_S, ROW_S),
    title="Batch that keeps the target, as far as computing goes",
    source="[decode_step_s](#eq-decode_step_s) solved, the rows being the longer",
    holds="as [tbt_batch](#eq-tbt_batch)",
)
ROOM_BATCH = Formula(
    result=q.batch_fits,
    expr=lambda hbm_bytes, weight_bytes, kv_bytes_per_token, prompt_len, new_tokens: (
        (hbm_bytes - weight_bytes) / (kv_bytes_per_token * (prompt_len + new_tokens))
    ),
    uses=(WEIGHT_BYTES,),
    variant="answers",
    title="Requests that fit in memory",
    source="[batch_fits](#eq-batch_fits), room for the whole answer set aside",
    holds="the weights fit; room is kept for every token of every answer",
)
DECODE_BATCH = Formula(
    result=q.decode_batch,
    expr=lambda tbt_batch, arith_batch, batch_fits: minimum(
        tbt_batch, arith_batch, batch_fits
    ),
    uses=(TBT_BATCH, ARITH_BATCH, ROOM_BATCH),
    title="Batch of a decode GPU",
    source="the least of what reading, computing and memory allow",
    holds="below one request the model does not fit the promise on this GPU",
)


def _decode_step(
    decode_batch: Any,
    one_request: Any,
    row_s: Any,
    weights_s: Any,
    overlap: Any,
    step_own_s: Any,
    overhead_s: Any,
) -> Any:
    """Products, then what each request adds, then launches."""
    return (
        partly_hidden(decode_batch * row_s / one_request, weights_s, overlap)
        + decode_batch * step_own_s / one_request
        + overhead_s
    )


DECODE_STEP_S = Formula(
    result=q.decode_step_s,
    expr=_decode_step,
    uses=(DECODE_BATCH, ROW_S, WEIGHTS_S, STEP_OWN_S),
    title="Time of a decode step",
    source=FITTED,
    holds="nothing but decodes in it, each in the middle of its answer",
)
DECODE_GPU_S = Formula(
    result=q.decode_gpu_s,
    expr=lambda decode_steps, one_request, decode_step_s, decode_batch: (
        decode_steps * one_request * decode_step_s / decode_batch
    ),
    uses=(DECODE_STEPS, DECODE_STEP_S, DECODE_BATCH),
    title="GPU time of an answer",
    source="its steps, each shared by the batch",
    holds="as [decode_step_s](#eq-decode_step_s); at least a part of a request fits",
)
DECODE_S = Formula(
    result=q.decode_s,
    expr=lambda weights_s, kv_s: weights_s + kv_s,
    uses=(WEIGHTS_S, KV_S),
    title="Lower bound on a decode step",
    source="[weights_s](#eq-weights_s) and [kv_s](#eq-kv_s)",
    holds="memory-bound, with no launches",
)
PREFILL_GPUS = Formula(
    result=q.prefill_gpus,
    expr=lambda arrival_rate, prefill_each_s, transfer_s, one_request: (
        arrival_rate * maximum(prefill_each_s, transfer_s) / one_request
    ),
    uses=(PREFILL_EACH_S, TRANSFER_S),
    title="Prefill GPUs kept busy",
    source="Little 1961: rate times time; a GPU cannot outrun its link",
    holds="as [prefill_each_s](#eq-prefill_each_s); the next whole number is needed",
)
DECODE_GPUS = Formula(
    result=q.decode_gpus,
    expr=lambda arrival_rate, decode_gpu_s, one_request: (
        arrival_rate * decode_gpu_s / one_request
    ),
    uses=(DECODE_GPU_S,),
    title="Decode GPUs kept busy",
    source="Little 1961: rate times time",
    holds="as [decode_gpu_s](#eq-decode_gpu_s)",
)
POOL_RATIO = Formula(
    result=q.pool_ratio,
    expr=lambda decode_gpu_s, prefill_each_s, transfer_s: (
        decode_gpu_s / maximum(prefill_each_s, transfer_s)
    ),
    uses=(DECODE_GPU_S, PREFILL_EACH_S, TRANSFER_S),
    title="Decode GPUs for each prefill GPU",
    source=(
        "[decode_gpus](#eq-decode_gpus) over [prefill_gpus](#eq-prefill_gpus): the "
        "rate cancels"
    ),
    holds="as both",
)
HANDOFF_PER_S = Formula(
    result=q.handoff_per_s,
    expr=lambda arrival_rate, handoff_bytes, one_request: (
        arrival_rate * handoff_bytes / one_request
    ),
    uses=(HANDOFF_BYTES,),
    title="Traffic between the pools",
    source=f"{ARTICLE}, §6",
    holds="no cache is reused",
)
FREE_ROWS = Formula(
    result=q.free_rows,
    expr=lambda: (
        solve(
            at(COMPUTE_S, keep=(q.iteration_flops,)).subs(
                q.iteration_flops.sympy,
                q.flops_per_param.sympy * q.params_active.sympy * q.n_rows.sympy,
            ),
            q.decode_s,
            q.n_rows,
        )
        - q.batch.sympy * q.own_row.sympy
    ),
    uses=(DECODE_S,),
    derived=True,
    title="Rows that ride along for free",
    source=(
        "[compute_s](#eq-compute_s), solved for the rows computed while a decode "
        "step reads"
    ),
    holds="overlap is complete; the decodes alone leave some; no FLOPs of attention",
)
