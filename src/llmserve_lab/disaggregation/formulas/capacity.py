"""One engine or two pools: the rate that GPUs carry, and the GPUs that a rate takes.

Equations (6.31) to (6.38).
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.disaggregation.formulas.gpu_time import (
    DECODE_GPU_S,
    PREFILL_GPU_S,
    SHARED_GPU_S,
)
from llmserve_lab.disaggregation.formulas.kv_transfer import TRANSFER_S
from llmserve_lab.formula.derive import ceiling, maximum, minimum
from llmserve_lab.formula.formula import Formula

__all__ = [
    "BEST_POOLS_RATE",
    "DECODE_RATE",
    "POOLS_GPUS",
    "POOLS_RATE",
    "PREFILL_RATE",
    "SHARED_GPUS",
    "SHARED_RATE",
    "TOKEN_COST",
]

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
    holds="as (6.29); a request has decode steps",
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
SHARED_GPUS = Formula(
    result=q.shared_gpus,
    expr=lambda arrival_rate, shared_gpu_s, one_request: ceiling(
        arrival_rate * shared_gpu_s / one_request
    ),
    uses=(SHARED_GPU_S,),
    number="6.36",
    title="GPUs for a load, one engine on each",
    source="Little 1961: rate times time; half a GPU is not for sale",
    holds="as (6.30)",
)
POOLS_GPUS = Formula(
    result=q.pools_gpus,
    expr=lambda arrival_rate, prefill_gpu_s, transfer_s, decode_gpu_s, one_request: (
        ceiling(arrival_rate * maximum(prefill_gpu_s, transfer_s) / one_request)
        + ceiling(arrival_rate * decode_gpu_s / one_request)
    ),
    uses=(
        PREFILL_GPU_S,
        TRANSFER_S,
        DECODE_GPU_S,
    ),
    number="6.37",
    title="GPUs for a load, in two pools",
    source="as (6.36), each pool rounded up by itself",
    holds="as (6.31) and (6.32)",
)
TOKEN_COST = Formula(
    result=q.token_cost,
    expr=lambda gpu_price, tokens_per_s: gpu_price / tokens_per_s,
    number="6.38",
    title="Cost of a token",
    source="scaling chapter, cost per token",
    holds="the GPU is paid for whether it works or waits",
)
