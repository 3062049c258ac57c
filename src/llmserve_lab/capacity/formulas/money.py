"""Dollars by token and by request: what works is paid for, and so is what waits."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.formula import Formula

__all__ = [
    "BUSY_COST",
    "EVEN_PRICE",
    "INPUT_COST",
    "OUTPUT_COST",
    "PAID_COST",
    "REPLICA_PRICE",
    "USED_SHARE",
]
RULE = (
    "a prompt is charged the time by which it lengthens the iterations it rides in, an "
    "answer all the rest"
)

REPLICA_PRICE = Formula(
    result=q.price,
    expr=lambda replica_gpus, gpu_hour: replica_gpus * gpu_hour,
    title="Price of a replica",
    source="so many GPUs at so much each",
    holds="all GPUs of a replica are of one kind",
)
BUSY_COST = Formula(
    result=q.busy_cost,
    expr=lambda million_requests, price, an_hour, replica_rate: (
        million_requests * price / (an_hour * replica_rate)
    ),
    title="Cost of a million requests on a busy replica",
    source="dollars a second over requests a second",
    holds="the replica always has as many requests as it can serve in time",
)
INPUT_COST = Formula(
    result=q.input_cost,
    expr=lambda million_tokens, price, prompt_gpu_s, an_hour, prompt_len: (
        million_tokens * price * prompt_gpu_s / (an_hour * prompt_len)
    ),
    title="Cost of a million input tokens",
    source="price times the time charged to a prompt, over its tokens",
    holds=RULE,
)
OUTPUT_COST = Formula(
    result=q.output_cost,
    expr=lambda million_tokens, price, answer_gpu_s, an_hour, new_tokens: (
        million_tokens * price * answer_gpu_s / (an_hour * new_tokens)
    ),
    title="Cost of a million output tokens",
    source="price times the time charged to an answer, over its tokens",
    holds=RULE,
)
USED_SHARE = Formula(
    result=q.used_share,
    expr=lambda mean_rate, n_replicas, replica_rate: (
        mean_rate / (n_replicas * replica_rate)
    ),
    title="Used share of the capacity",
    source="requests that come over requests that could be served",
    holds="the replicas stand all the time; over the time of the mean",
)
PAID_COST = Formula(
    result=q.paid_cost,
    expr=lambda busy_cost, used_share: busy_cost / used_share,
    uses=(BUSY_COST, USED_SHARE),
    title="Cost of a million requests, unused capacity included",
    source="the same dollars for fewer requests",
    holds="a GPU costs as much unused as used",
)
EVEN_PRICE = Formula(
    result=q.even_price,
    expr=lambda price, fast_gpu_s, slow_gpu_s: price * fast_gpu_s / slow_gpu_s,
    title="Price at which a slower GPU breaks even",
    source="equal dollars for the same phase of a request",
    holds="both GPUs keep the service level, and both pools are kept busy",
)
