"""How many GPUs for each phase: work that arrives over work that one does."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.disaggregation.formulas.kv_transfer import (
    ARTICLE,
    EXPOSED_S,
    HANDOFF_BYTES,
    PREFILL_S,
)
from llmserve_lab.formula.derive import at, solve
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import COMPUTE_S, KV_S, WEIGHTS_S

__all__ = [
    "DECODE_GPUS",
    "DECODE_S",
    "DECODE_STEPS",
    "FREE_ROWS",
    "HANDOFF_PER_S",
    "MEAN_CONTEXT",
    "POOL_RATIO",
    "PREFILL_GPUS",
    "PREFILL_WAIT_S",
    "SECOND_GAP_S",
    "STEP_READ_S",
    "TBT_BATCH",
    "TTFT",
]

PREFILL_WAIT_S = Formula(
    result=q.prefill_wait_s,
    expr=lambda prefill_busy, prefill_s: (
        prefill_busy * prefill_s / (2 * (1 - prefill_busy))
    ),
    uses=(PREFILL_S,),
    title="Mean wait for one prefill GPU",
    source="M/D/1, Khinchine 1932",
    holds="Poisson arrivals, equal prompts, one GPU that is not overrun",
)
TTFT = Formula(
    result=q.ttft,
    expr=lambda prefill_wait_s, prefill_s: prefill_wait_s + prefill_s,
    uses=(PREFILL_WAIT_S, PREFILL_S),
    title="Mean time to the first token",
    source="counted: the prefill emits it",
    holds="as [prefill_wait_s](#eq-prefill_wait_s); nothing is in the transfer's way",
)
DECODE_S = Formula(
    result=q.decode_s,
    expr=lambda weights_s, kv_s: weights_s + kv_s,
    uses=(WEIGHTS_S, KV_S),
    title="Time of a decode step",
    source="[weights_s](#eq-weights_s) and [kv_s](#eq-kv_s)",
    holds="memory-bound, as decode is",
)
SECOND_GAP_S = Formula(
    result=q.second_gap_s,
    expr=lambda exposed_s, decode_s: exposed_s + decode_s,
    uses=(EXPOSED_S, DECODE_S),
    title="Gap before the second token",
    source="counted: the cache has to arrive first",
    holds="the request decodes in the first step after its cache has arrived",
)
DECODE_STEPS = Formula(
    result=q.decode_steps,
    expr=lambda new_tokens, token_a_step: new_tokens / token_a_step - 1,
    title="Decode steps of a request",
    source="counted: the prefill emits the first token",
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
TBT_BATCH = Formula(
    result=q.tbt_batch,
    expr=lambda tbt_target, overhead_s, weights_s, one_request, step_read_s: (
        one_request * (tbt_target - overhead_s - weights_s) / step_read_s
    ),
    uses=(WEIGHTS_S, STEP_READ_S),
    title="Batch that keeps the target",
    source="[decode_s](#eq-decode_s), solved for the batch",
    holds="the target leaves time to read one cache; all of them fit in memory",
)
PREFILL_GPUS = Formula(
    result=q.prefill_gpus,
    expr=lambda arrival_rate, prefill_s, one_request: (
        arrival_rate * prefill_s / one_request
    ),
    uses=(PREFILL_S,),
    title="Prefill GPUs kept busy",
    source="Little 1961: rate times time",
    holds="one prompt at a time on a GPU; the next whole number is what it takes",
)
DECODE_GPUS = Formula(
    result=q.decode_gpus,
    expr=lambda arrival_rate, decode_steps, tbt_target, tbt_batch: (
        arrival_rate * decode_steps * tbt_target / tbt_batch
    ),
    uses=(DECODE_STEPS, TBT_BATCH),
    title="Decode GPUs kept busy",
    source="Little 1961: requests in decode over requests that one GPU holds",
    holds="every step lasts just as long as the target allows",
)
POOL_RATIO = Formula(
    result=q.pool_ratio,
    expr=lambda decode_steps, tbt_target, tbt_batch, one_request, prefill_s: (
        decode_steps * tbt_target / tbt_batch * (one_request / prefill_s)
    ),
    uses=(DECODE_STEPS, TBT_BATCH, PREFILL_S),
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
