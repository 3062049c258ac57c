"""One engine or two pools: the rate that GPUs carry, and the GPUs that a rate takes."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.disaggregation.formulas.gpu_time import SHARED_GPU_S
from llmserve_lab.disaggregation.formulas.kv_transfer import PREFILL_EACH_S, TRANSFER_S
from llmserve_lab.disaggregation.formulas.pools import DECODE_GPU_S
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
    expr=lambda n_prefill, one_request, prefill_each_s, transfer_s: (
        n_prefill * one_request / maximum(prefill_each_s, transfer_s)
    ),
    uses=(
        PREFILL_EACH_S,
        TRANSFER_S,
    ),
    title="Rate of the prefill pool",
    source="one iteration after the other; a GPU cannot outrun its link",
    holds="caches are sent while the next prompts are computed",
)
DECODE_RATE = Formula(
    result=q.decode_rate,
    expr=lambda n_decode, one_request, decode_gpu_s: (
        n_decode * one_request / decode_gpu_s
    ),
    uses=(DECODE_GPU_S,),
    title="Rate of the decode pool",
    source="GPUs over the GPU time of an answer",
    holds="as [decode_gpu_s](#eq-decode_gpu_s); a request has decode steps",
)
POOLS_RATE = Formula(
    result=q.pools_rate,
    expr=lambda prefill_rate, decode_rate: minimum(prefill_rate, decode_rate),
    uses=(
        PREFILL_RATE,
        DECODE_RATE,
    ),
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
    title="Rate of one engine on each of them",
    source="GPUs over the GPU time of a request",
    holds="as [shared_gpu_s](#eq-shared_gpu_s)",
)
SHARED_GPUS = Formula(
    result=q.shared_gpus,
    expr=lambda arrival_rate, shared_gpu_s, one_request: ceiling(
        arrival_rate * shared_gpu_s / one_request
    ),
    uses=(SHARED_GPU_S,),
    title="GPUs for a load, one engine on each",
    source="Little 1961: rate times time; half a GPU is not for sale",
    holds="as [shared_gpu_s](#eq-shared_gpu_s)",
)
POOLS_GPUS = Formula(
    result=q.pools_gpus,
    expr=lambda arrival_rate, prefill_each_s, transfer_s, decode_gpu_s, one_request: (
        ceiling(arrival_rate * maximum(prefill_each_s, transfer_s) / one_request)
        + ceiling(arrival_rate * decode_gpu_s / one_request)
    ),
    uses=(
        PREFILL_EACH_S,
        TRANSFER_S,
        DECODE_GPU_S,
    ),
    title="GPUs for a load, in two pools",
    source="as [shared_gpus](#eq-shared_gpus), each pool rounded up by itself",
    holds="as [prefill_rate](#eq-prefill_rate) and [decode_rate](#eq-decode_rate)",
)
TOKEN_COST = Formula(
    result=q.token_cost,
    expr=lambda gpu_price, tokens_per_s: gpu_price / tokens_per_s,
    title="Cost of a token",
    source="scaling chapter, cost per token",
    holds="the GPU is paid for whether it works or waits",
)
