"""What one request costs in GPU time: in two pools, and in one engine."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.disaggregation.formulas.kv_transfer import PREFILL_COMPUTE_S
from llmserve_lab.disaggregation.formulas.pools import (
    DECODE_STEPS,
    MEAN_CONTEXT,
    STEP_READ_S,
    TBT_BATCH,
)
from llmserve_lab.formula.derive import at, maximum, minimum
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import COMPUTE_S, WEIGHTS_S

__all__ = [
    "ANSWER_COMPUTE_S",
    "ANSWER_READ_S",
    "COMPUTE_SHARE",
    "DECODE_GPU_S",
    "PREFILL_GPU_S",
    "READ_SHARE",
    "REQUEST_COMPUTE_S",
    "SHARED_GPU_S",
]

ANSWER_READ_S = Formula(
    result=q.answer_read_s,
    expr=lambda decode_steps, step_read_s: decode_steps * step_read_s,
    uses=(
        DECODE_STEPS,
        STEP_READ_S,
    ),
    title="Reading the cache of one request",
    source="all of its decode steps",
    holds="no part of it is shared with another request",
)
REQUEST_COMPUTE_S = Formula(
    result=q.request_compute_s,
    expr=lambda: at(
        COMPUTE_S,
        batch=q.one_request,
        context=0,
        chunk=q.prompt_len.sympy + q.new_tokens.sympy - q.own_row.sympy,
    ),
    derived=True,
    title="Computing one request",
    source=(
        "[compute_s](#eq-compute_s): prompt and answer make the same causal triangle"
    ),
    holds="every row is computed once",
)
ANSWER_COMPUTE_S = Formula(
    result=q.answer_compute_s,
    expr=lambda: (
        q.decode_steps.sympy
        * at(COMPUTE_S, batch=q.one_request, chunk=q.own_row, context=q.mean_context)
    ),
    uses=(DECODE_STEPS, MEAN_CONTEXT),
    derived=True,
    title="Computing the answer alone",
    source="[compute_s](#eq-compute_s), one row in each decode step",
    holds="every row is computed once",
)
READ_SHARE = Formula(
    result=q.read_share,
    expr=lambda tbt_batch, step_read_s, one_request, tbt_target: (
        tbt_batch * step_read_s / (one_request * tbt_target)
    ),
    uses=(TBT_BATCH, STEP_READ_S),
    title="What a step leaves for reading caches",
    source="a step that lasts as long as the target allows",
    holds="as [tbt_batch](#eq-tbt_batch)",
)
COMPUTE_SHARE = Formula(
    result=q.compute_share,
    expr=lambda overhead_s, overlap, weights_s, tbt_target: (
        1 - (overhead_s + (1 - overlap) * weights_s) / tbt_target
    ),
    uses=(WEIGHTS_S,),
    title="What a step leaves for computing",
    source=(
        "as [read_share](#eq-read_share): what weights and overhead take is taken off"
    ),
    holds="as [tbt_batch](#eq-tbt_batch)",
)
PREFILL_GPU_S = Formula(
    result=q.prefill_gpu_s,
    expr=lambda prefill_compute_s, weights_s, overlap, overhead_s: (
        prefill_compute_s
        + weights_s
        - overlap * minimum(prefill_compute_s, weights_s)
        + overhead_s
    ),
    uses=(
        PREFILL_COMPUTE_S,
        WEIGHTS_S,
    ),
    title="GPU time of a prefill",
    source="both bills, less what overlaps",
    holds="one prompt at a time on a GPU",
)
DECODE_GPU_S = Formula(
    result=q.decode_gpu_s,
    expr=lambda overlap, compute_share, read_share, answer_compute_s, answer_read_s: (
        maximum(
            (answer_compute_s + (1 - overlap) * answer_read_s) / compute_share,
            (answer_read_s + (1 - overlap) * answer_compute_s) / read_share,
        )
    ),
    uses=(
        COMPUTE_SHARE,
        READ_SHARE,
        ANSWER_COMPUTE_S,
        ANSWER_READ_S,
    ),
    title="GPU time of an answer",
    source="steps filled up to the target, with decodes alone",
    holds="all caches fit in memory",
)
SHARED_GPU_S = Formula(
    result=q.shared_gpu_s,
    expr=lambda overlap, compute_share, read_share, request_compute_s, answer_read_s: (
        maximum(
            (request_compute_s + (1 - overlap) * answer_read_s) / compute_share,
            (answer_read_s + (1 - overlap) * request_compute_s) / read_share,
        )
    ),
    uses=(
        COMPUTE_SHARE,
        READ_SHARE,
        REQUEST_COMPUTE_S,
        ANSWER_READ_S,
    ),
    title="GPU time of a request in one engine",
    source="steps filled up to the target, with decodes and chunks",
    holds="chunks are cut to keep the target and read no prefix again; caches fit",
)
