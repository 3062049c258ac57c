"""Symptoms of a stream: answers that pause, percentiles that worsen."""

from __future__ import annotations

from dataclasses import replace

from llmserve_lab.engine import Chunked
from llmserve_lab.symptoms.case import Cause, Remedy, Sign, Symptom, Watchable
from llmserve_lab.symptoms.cases.latency import CHUNK, MACHINE, MANY, SECOND, calm
from llmserve_lab.symptoms.cases.memory import EIGHT_BITS
from llmserve_lab.symptoms.served import (
    BUDGET,
    SEATS,
    WatchedRun,
    backlog,
    changed,
    poisson,
    server,
)
from llmserve_lab.workloads import Bounded, Geometric, Lognormal

CROWD_BUDGET = 2048  # tokens of an iteration of the server that preempts
UNCUT = 65_536  # a token budget that cuts no prompt of these runs
CROWD, FEW = 256, 32  # clients
BINDS = 7  # seats, fewer than the most that run
ROOMY = 128  # seats, below storm.seats_on_average of 1,000 + 2,000 tokens


def _books(seed: int) -> Watchable:
    prompts = Bounded(law=Lognormal(mean=6000, cv=2.0), high=60_000)
    requests = poisson(rate_per_s=1.5, many=MANY, seed=seed, prompt=prompts)
    return WatchedRun(requests, server(Chunked(UNCUT, SEATS)))


def _crowded(seed: int) -> Watchable:
    # In a shorter run start and end decide what a cap does to the rate.
    requests = backlog(many=6 * CROWD, seed=seed, answer=Geometric(2000))
    return WatchedRun(requests, server(Chunked(CROWD_BUDGET, SEATS)), clients=CROWD)


PAUSES = Symptom(
    key="pauses",
    title="Answers that pause",
    symptom="One answer in ten stands still for half a second or more.",
    alarm=Sign("worst_gap", least=0.5),
    goal="worst_gap",
    rising=False,
    question="Are requests preempted?",
    machine=MACHINE,
    healthy=calm,
    healthy_load="2 requests/s of 1,000 + 200 tokens",
    causes=(
        Cause(
            "long prompts in one piece",
            "1.5 requests/s, prompts of 6,000 tokens on average and at most "
            "60,000, answers of 200",
            _books,
            (Sign("preemptions", most=0.02),),
            (
                Remedy(
                    "smaller chunks",
                    True,
                    changed(policy=Chunked(CHUNK, SEATS)),
                    "continuous_batching",
                    f"--max-num-batched-tokens {CHUNK}",
                ),
                Remedy(
                    "fewer seats",
                    False,
                    changed(policy=Chunked(UNCUT, BINDS)),
                    "kv_memory",
                    f"--max-num-seqs {BINDS}",
                ),
            ),
        ),
        Cause(
            "preemption",
            f"{CROWD} clients, 1,000 + 2,000 tokens",
            _crowded,
            (Sign("preemptions", least=0.02),),
            (
                Remedy(
                    "fewer seats",
                    True,
                    changed(policy=Chunked(CROWD_BUDGET, ROOMY)),
                    "kv_memory",
                    f"--max-num-seqs {ROOMY}",
                ),
                Remedy(
                    "smaller chunks",
                    False,
                    changed(policy=Chunked(CHUNK, SEATS)),
                    "continuous_batching",
                    f"--max-num-batched-tokens {CHUNK}",
                ),
            ),
        ),
    ),
)


def _few(seed: int) -> Watchable:
    requests = backlog(many=640, seed=seed)
    return WatchedRun(requests, server(Chunked(CHUNK, SEATS)), clients=FEW)


def _full_batch(seed: int) -> Watchable:
    return WatchedRun(backlog(many=900, seed=seed), server(), clients=320)


def _large_budget(seed: int) -> Watchable:
    return WatchedRun(backlog(many=640, seed=seed), server(), clients=FEW)


BATCH = Symptom(
    key="percentiles",
    title="More tokens per second, worse percentiles",
    symptom="Since the last change the GPU writes more tokens, and chat feels slow.",
    alarm=Sign("itl_p99", least=0.05),
    goal="itl_p99",
    rising=False,
    question="Has the median time between tokens grown, or only the slowest percent?",
    machine=MACHINE,
    healthy=_few,
    healthy_load="32 clients, 1,000 + 200 tokens, 512 tokens an iteration",
    causes=(
        Cause(
            "a large batch",
            "320 clients, 1,000 + 200 tokens, 8,192 tokens an iteration",
            _full_batch,
            (Sign("itl_p50", least=0.02),),
            (
                Remedy(
                    "smaller chunks",
                    True,
                    changed(policy=Chunked(CHUNK, SEATS)),
                    "continuous_batching",
                    f"--max-num-batched-tokens {CHUNK}",
                ),
                Remedy(
                    "cap the batch",
                    True,
                    changed(policy=Chunked(BUDGET, 64)),
                    "continuous_batching",
                    "--max-num-seqs 64",
                ),
                replace(EIGHT_BITS, helps=False),
                SECOND,
            ),
        ),
        Cause(
            "prompts among the decodes",
            "32 clients, 1,000 + 200 tokens, 8,192 tokens an iteration",
            _large_budget,
            (Sign("itl_p50", most=0.02),),
            (
                Remedy(
                    "smaller chunks",
                    True,
                    changed(policy=Chunked(CHUNK, SEATS)),
                    "continuous_batching",
                    f"--max-num-batched-tokens {CHUNK}",
                ),
                Remedy(
                    "cap the batch",
                    False,
                    changed(policy=Chunked(BUDGET, 24)),
                    "continuous_batching",
                    "--max-num-seqs 24",
                ),
            ),
        ),
    ),
    beside=("itl_p50",),
)
