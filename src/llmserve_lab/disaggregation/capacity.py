"""One engine or two pools: the GPU time of a request, and the rate that follows.

Equations (6.23) to (6.36).
"""

from __future__ import annotations

from llmserve_lab.book import notation as q
from llmserve_lab.book.formula import Formula
from llmserve_lab.book.symbolic import at, maximum, minimum
from llmserve_lab.disaggregation.handing import (
    PREFILL_COMPUTE_S,
    TRANSFER_S,
)
from llmserve_lab.disaggregation.pools import DECODE_STEPS, MEAN_CONTEXT, STEP_READ_S
from llmserve_lab.roofline.formulas import COMPUTE_S, WEIGHTS_S

__all__ = [
    "ANSWER_COMPUTE_S",
    "ANSWER_READ_S",
    "BEST_POOLS_RATE",
    "COMPUTE_SHARE",
    "DECODE_GPU_S",
    "DECODE_RATE",
    "POOLS_RATE",
    "PREFILL_GPU_S",
    "PREFILL_RATE",
    "READ_SHARE",
    "REQUEST_COMPUTE_S",
    "SHARED_GPU_S",
    "SHARED_RATE",
    "TOKEN_COST",
]

ANSWER_READ_S = Formula(
    result=q.answer_read_s,
    expr=lambda decode_steps, step_read_s: decode_steps * step_read_s,
    uses=(
        DECODE_STEPS,
        STEP_READ_S,
    ),
    number="6.23",
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
    number="6.24",
    title="Computing one request",
    source="(1.28): prompt and answer make the same causal triangle",
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
    number="6.25",
    title="Computing the answer alone",
    source="(1.28), one row in each decode step",
    holds="every row is computed once",
)
READ_SHARE = Formula(
    result=q.read_share,
    expr=lambda weights_s, overhead_s, tbt_target: (
        1 - (weights_s + overhead_s) / tbt_target
    ),
    uses=(WEIGHTS_S,),
    number="6.26",
    title="What a step leaves for reading caches",
    source="a step that lasts as long as the target allows",
    holds="the target is longer than what is left out here",
)
COMPUTE_SHARE = Formula(
    result=q.compute_share,
    expr=lambda overhead_s, overlap, weights_s, tbt_target: (
        1 - (overhead_s + (1 - overlap) * weights_s) / tbt_target
    ),
    uses=(WEIGHTS_S,),
    number="6.27",
    title="What a step leaves for computing",
    source="as (6.26); what does not overlap is added",
    holds="the target is longer than what is left out here",
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
    number="6.28",
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
    number="6.29",
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
    number="6.30",
    title="GPU time of a request in one engine",
    source="steps filled up to the target, with decodes and chunks",
    holds="chunks are cut to keep the target and read no prefix again; caches fit",
)
PREFILL_RATE = Formula(
    result=q.prefill_rate,
    expr=lambda n_prefill, one_request, prefill_gpu_s, transfer_s: (
        n_prefill * one_request / maximum(prefill_gpu_s, transfer_s)
    ),
    uses=(
        PREFILL_GPU_S,
        TRANSFER_S,
    ),
    number="6.31",
    title="Rate of the prefill pool",
    source="one prompt after the other; a GPU cannot outrun its link",
    holds="a cache is sent while the next prompt is computed",
)
DECODE_RATE = Formula(
    result=q.decode_rate,
    expr=lambda n_decode, one_request, decode_gpu_s: (
        n_decode * one_request / decode_gpu_s
    ),
    uses=(DECODE_GPU_S,),
    number="6.32",
    title="Rate of the decode pool",
    source="GPUs over the GPU time of an answer",
    holds="as (6.29)",
)
POOLS_RATE = Formula(
    result=q.pools_rate,
    expr=lambda prefill_rate, decode_rate: minimum(prefill_rate, decode_rate),
    uses=(
        PREFILL_RATE,
        DECODE_RATE,
    ),
    number="6.33",
    title="Rate of two pools",
    source="the slower of the two",
    holds="as both",
)
BEST_POOLS_RATE = Formula(
    result=q.best_pools_rate,
    expr=lambda n_prefill, n_decode, prefill_rate, decode_rate: (
        (n_prefill + n_decode) / (n_prefill / prefill_rate + n_decode / decode_rate)
    ),
    uses=(
        PREFILL_RATE,
        DECODE_RATE,
    ),
    number="6.34",
    title="Rate of as many GPUs, split at best",
    source="both pools equally busy",
    holds="GPUs can be divided; whole ones carry a little less",
)
SHARED_RATE = Formula(
    result=q.shared_rate,
    expr=lambda n_prefill, n_decode, one_request, shared_gpu_s: (
        (n_prefill + n_decode) * one_request / shared_gpu_s
    ),
    uses=(SHARED_GPU_S,),
    number="6.35",
    title="Rate of one engine on each of them",
    source="GPUs over the GPU time of a request",
    holds="as (6.30)",
)
TOKEN_COST = Formula(
    result=q.token_cost,
    expr=lambda gpu_price, tokens_per_s: gpu_price / tokens_per_s,
    number="6.36",
    title="Cost of a token",
    source="scaling chapter, cost per token",
    holds="the GPU is paid for whether it works or waits",
)
