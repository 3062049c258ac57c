"""Experiments in the engine: prompts shared, requests routed, requests preempted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from statistics import median

import numpy as np

from llmserve_lab.checks import key_of
from llmserve_lab.engine import (
    Chunked,
    IterationLoad,
    LeastLoaded,
    Pool,
    PrefixAware,
    Report,
    Request,
    Routing,
    simulate,
)
from llmserve_lab.engine.metrics.percentile import percentile
from llmserve_lab.engine.routing import Target
from llmserve_lab.kv_memory.machine import BLOCK, blocks_with
from llmserve_lab.running_example import cost, model
from llmserve_lab.workloads import Geometric, poisson_requests

BUDGET = 8192  # tokens of an iteration
BUDGET_POLICY = Chunked(BUDGET)
MAX_BATCH = BUDGET_POLICY.max_batch  # requests that a replica runs at a time
WIDE_BATCH = 1_024  # default of a large GPU
SLACK = 8  # requests that the replica with the prefix may have more than the least
REPLICAS = 4
ASSISTANTS, SYSTEM = 120, 6_000  # applications, each with a system prompt of its own
QUESTION, ANSWER, RATE = 300, 200, 14.0  # mean tokens, and requests per second
HOT, HOT_RATE = 0.5, 40.0  # share of all requests for one assistant; per second
NUM_REQUESTS, LONG_RUN = 1_200, 4_800
WARM = 1_200  # requests after which every prompt has been seen, left out of the means
NO_EVICTION = ASSISTANTS * SYSTEM  # blocks: far more than all system prompts take
OWN = 100_000  # names of blocks that belong to one assistant


class Sticky(Routing):
    """Affinity by assistant: a hash of its name says which replica, whatever it has."""

    def choose(self, replicas: Sequence[Target], request: Request) -> int:
        """Place of the replica that all requests of the assistant go to."""
        name = str(request.prefix[0] // OWN).encode()
        return int.from_bytes(sha256(name).digest()[:8]) % len(replicas)


ROUTINGS: dict[str, Routing] = {
    "least loaded": LeastLoaded(),
    "affinity by assistant": Sticky(),
    "prefix-aware": PrefixAware(SLACK),
}


@dataclass(frozen=True)
class Routed:
    """One routing on the trace: prompt tokens found, time to first token, spread."""

    hit_share: float
    ttft_s: float
    ttft_mean_s: float
    ttft_p95_s: float
    tpot_mean_s: float  # of all requests with two tokens or more
    preemptions: int


@cache
def trace(
    *,
    seed: int = 0,
    many: int = NUM_REQUESTS,
    rate: float = RATE,
    hot: float = 0.0,
    after: int = 0,
) -> tuple[Request, ...]:
    """Requests of several assistants: a long system prompt, then a question.

    A share ``hot`` of them is for the first assistant; else all are as popular. With
    ``after``, so many come first at the usual rate, all as popular.
    """
    before = trace(seed=seed + 2, many=after) if after else ()
    start_s = before[-1].arrival_s if before else 0.0
    rng = np.random.default_rng(seed)
    plain = poisson_requests(
        rate_per_s=rate,
        prompt=Geometric(mean=QUESTION),
        output=Geometric(mean=ANSWER),
        num_requests=many,
        seed=seed,
    )
    first = np.random.default_rng(seed + 1).random(many) < hot
    later = (
        replace(each, id=after + each.id, arrival_s=start_s + each.arrival_s)
        for each in plain
    )
    return before + tuple(
        _asked(each, 0 if popular else int(rng.integers(ASSISTANTS)))
        for each, popular in zip(later, first, strict=True)
    )


def _asked(request: Request, assistant: int) -> Request:
    """A question after the system prompt of an assistant, its blocks named."""
    prompt_len = SYSTEM + request.prompt_len
    shared, blocks = SYSTEM // BLOCK, -(-prompt_len // BLOCK)
    own = -(request.id + 1) * OWN
    names = (
        *(assistant * OWN + i for i in range(shared)),
        *(own - i for i in range(blocks - shared)),
    )
    return replace(request, prompt_len=prompt_len, prefix=names)


@cache
def routed(
    name: str,
    *,
    many: int = NUM_REQUESTS,
    kv_blocks: int | None = None,
    rate: float = RATE,
    hot: float = 0.0,
    skip: int = 0,
    max_batch: int = MAX_BATCH,
) -> Routed:
    """The trace on several replicas under one routing.

    With ``kv_blocks`` each replica has so many instead of those that fit; ``rate`` and
    ``hot`` are those of :func:`trace`; the first ``skip`` requests are served, but
    not counted; ``max_batch`` is the most requests that a replica runs at a time.

    Raises:
        ValueError: there is no routing of this name.
    """
    key_of("name", name, ROUTINGS)
    pool = _pool(ROUTINGS[name], max_batch=max_batch, kv_blocks=kv_blocks)
    requests = trace(many=many, rate=rate, hot=hot)
    return _summed(requests, simulate(requests, pool), skip)


def _pool(
    routing: Routing, *, max_batch: int = MAX_BATCH, kv_blocks: int | None = None
) -> Pool:
    return Pool(
        cost(),
        Chunked(BUDGET, max_batch),
        REPLICAS,
        kv_blocks=blocks_with(max_batch) if kv_blocks is None else kv_blocks,
        block_tokens=BLOCK,
        prefix_caching=True,
        routing=routing,
    )


def hot_arrivals() -> float:
    """Requests a second on the popular assistant's replica, if a hash chooses it.

    All requests of that assistant go there, and a part of the others.
    """
    return HOT_RATE * (HOT + (1 - HOT) / REPLICAS)


def hot_held() -> float:
    """Cached tokens that a token of an answer reads: prompt, and half of the answer."""
    return SYSTEM + QUESTION + ANSWER / 2


def hot_reads() -> float:
    """Bytes a second of cache that decode reads on the popular assistant's replica."""
    return hot_arrivals() * ANSWER * hot_held() * model().kv_bytes_per_token()


@cache
def _hot(name: str, max_batch: int, many: int) -> tuple[float, float]:
    """Mean time of a token of the popular assistant, and share of tokens found.

    Caches are warm: what comes before the assistant is popular is not counted.
    """
    requests = trace(rate=HOT_RATE, hot=HOT, after=WARM, many=many)
    report = simulate(requests, _pool(ROUTINGS[name], max_batch=max_batch))
    ids = np.asarray(report.id, dtype=int)  # in the order in which they are complete
    popular = np.array(
        [each >= WARM and (requests[each].prefix or (1,))[0] == 0 for each in ids]
    )
    written = np.array([requests[each].output_len > 1 for each in ids])
    spent_s = np.asarray(report.tpot_s)[popular[written]]
    return float(np.mean(spent_s)), _summed(requests, report, WARM).hit_share


def hot_tokens(
    name: str, *, max_batch: int = WIDE_BATCH, many: int = NUM_REQUESTS
) -> float:
    """Mean time of a token in the answers of the popular assistant, in seconds."""
    return _hot(name, max_batch, many)[0]


def hot_hits(name: str) -> float:
    """Share of all prompt tokens that a cache had in the same run."""
    return _hot(name, WIDE_BATCH, NUM_REQUESTS)[1]


def step_s(requests: int, held: float) -> float:
    """Seconds of a step that writes a token for each of so many requests.

    Each has ``held`` tokens in cache.
    """
    cached = round(requests * held)
    return cost().seconds(IterationLoad(requests, cached + requests, cached, requests))


def warm(name: str, *, kv_blocks: int | None = None) -> Routed:
    """The long run without its start, in which every prompt is new."""
    return routed(name, many=LONG_RUN, kv_blocks=kv_blocks, skip=WARM)


def without_cache() -> Routed:
    """The same with least-loaded routing, and no prompt found again."""
    pool = Pool(
        cost(),
        BUDGET_POLICY,
        REPLICAS,
        kv_blocks=blocks_with(MAX_BATCH),
        block_tokens=BLOCK,
    )
    return _summed(trace(), simulate(trace(), pool))


def _summed(requests: tuple[Request, ...], report: Report, skip: int = 0) -> Routed:
    prompts = sum(each.prompt_len for each in requests[skip:])
    order = np.argsort(report.id)[skip:]  # the report has them as they are complete
    ttft_s = np.asarray(report.ttft_s)[order]
    return Routed(
        hit_share=float(report.hit_tokens[order].sum()) / prompts,
        ttft_s=float(median(ttft_s)),
        ttft_mean_s=float(np.mean(ttft_s)),
        ttft_p95_s=percentile(ttft_s, 95),
        tpot_mean_s=float(np.mean(report.tpot_s)),
        preemptions=int(report.preemptions.sum()),
    )


@dataclass(frozen=True)
class Preempted:
    """One way to preempt, on a load that outgrows the cache."""

    preemptions: int
    recomputed_tokens: int
    end_s: float
    ttft_s: float
    pause_s: float  # longest time between two tokens of one answer


FULL_LOAD = 256  # requests at once, more than the blocks hold when answers have grown
FEW_BLOCKS = 12_000
BURST_PROMPT, BURST_ANSWER = 500, 600  # tokens of each
LINKS = tuple(1e9 * gb for gb in (2, 12, 63))  # byte/s
SAFE_BATCH = FEW_BLOCKS // -(-(BURST_PROMPT + BURST_ANSWER) // BLOCK)


@cache
def preempted(
    host_bytes_per_s: float | None,
    *,
    max_batch: int = FULL_LOAD,
    kv_blocks: int = FEW_BLOCKS,
) -> Preempted:
    """A burst of requests in too small a cache, by recomputation or by swapping."""
    pool = Pool(
        cost(),
        Chunked(BUDGET, max_batch),
        kv_blocks=min(kv_blocks, blocks_with(FULL_LOAD)),
        block_tokens=BLOCK,
        swap_bytes_per_s=host_bytes_per_s,
    )
    burst = [
        Request(
            arrival_s=0.0, prompt_len=BURST_PROMPT, output_len=BURST_ANSWER, id=number
        )
        for number in range(FULL_LOAD)
    ]
    report = simulate(burst, pool)
    return Preempted(
        preemptions=int(report.preemptions.sum()),
        recomputed_tokens=int(report.recomputed_tokens),
        end_s=float(np.max(report.finished_s)),
        ttft_s=float(median(report.ttft_s)),
        pause_s=float(np.max(report.worst_gap_s)),
    )
