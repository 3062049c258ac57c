"""Symptoms of a stream: answers that pause, percentiles that worsen."""

from __future__ import annotations

from dataclasses import replace

from llmserve_lab.engine import Chunked
from llmserve_lab.running_example import cost
from llmserve_lab.symptoms.case import Cause, Remedy, Sign, Symptom, Watchable
from llmserve_lab.symptoms.cases.latency import CHUNK, MACHINE, MANY, SECOND, calm
from llmserve_lab.symptoms.cases.memory import EIGHT_BITS
from llmserve_lab.symptoms.served import (
    BUDGET,
    ROUNDS,
    SLOTS,
    WatchedRun,
    backlog,
    changed,
    poisson,
    restarted,
    server,
)
from llmserve_lab.workloads import Bounded, Geometric, Lognormal

CROWD_BUDGET = 2048  # tokens of an iteration of the server that preempts
UNCUT = 65_536  # a token budget that cuts no prompt of these runs
CROWD, FEW, FULL = 256, 32, 320  # clients
WATCHED = 16  # requests for each of the crowd: the longest pauses are few
BINDS = 7  # slots, fewer than the most that run
ROOMY = 128  # slots, below storm.slots_on_average of 1,000 + 2,000 tokens


def _books(seed: int) -> Watchable:
    prompts = Bounded(law=Lognormal(mean=6000, cv=2.0), high=60_000)
    requests = poisson(rate_per_s=1.5, many=MANY, seed=seed, prompt=prompts)
    return WatchedRun(requests, server(Chunked(UNCUT, SLOTS)))


def _crowded(seed: int) -> Watchable:
    requests = backlog(many=WATCHED * CROWD, seed=seed, answer=Geometric(2000))
    return WatchedRun(requests, server(Chunked(CROWD_BUDGET, SLOTS)), clients=CROWD)


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
            f"60,000, answers of 200, {UNCUT:,} tokens an iteration",
            _books,
            (Sign("preemptions", most=0.02),),
            (
                Remedy(
                    "smaller chunks",
                    True,
                    restarted(Chunked(CHUNK, SLOTS)),
                    "continuous_batching",
                    f"--max-num-batched-tokens {CHUNK}",
                ),
                Remedy(
                    "fewer slots",
                    False,
                    restarted(Chunked(UNCUT, BINDS)),
                    "kv_memory",
                    f"--max-num-seqs {BINDS}",
                ),
            ),
        ),
        Cause(
            "preemption",
            f"{CROWD} clients, 1,000 + 2,000 tokens, {CROWD_BUDGET:,} an iteration",
            _crowded,
            (Sign("preemptions", least=0.02),),
            (
                Remedy(
                    "fewer slots",
                    True,
                    restarted(Chunked(CROWD_BUDGET, ROOMY)),
                    "kv_memory",
                    f"--max-num-seqs {ROOMY}",
                ),
                Remedy(
                    "smaller chunks",
                    False,
                    restarted(Chunked(CHUNK, SLOTS)),
                    "continuous_batching",
                    f"--max-num-batched-tokens {CHUNK}",
                ),
            ),
        ),
    ),
)


def cut_one_by_one() -> float:
    """Tokens per second of the large batch under the old budget, nothing replayed."""
    run = restarted(Chunked(CHUNK, SLOTS))(_full_batch(0))
    assert isinstance(run, WatchedRun)
    return changed(cost=cost())(run).observe()["tokens_per_s"]


def _few(seed: int) -> Watchable:
    requests = backlog(many=640, seed=seed)
    return WatchedRun(requests, server(Chunked(CHUNK, SLOTS)), clients=FEW)


def _full_batch(seed: int) -> Watchable:
    return WatchedRun(backlog(many=ROUNDS * FULL, seed=seed), server(), clients=FULL)


def _large_budget(seed: int) -> Watchable:
    return WatchedRun(backlog(many=640, seed=seed), server(), clients=FEW)


BATCH = Symptom(
    key="percentiles",
    title="A larger batch or token budget, worse percentiles",
    symptom="Since the batch or the token budget was enlarged, chat feels slow.",
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
            f"{FULL} clients, 1,000 + 200 tokens, 8,192 tokens an iteration",
            _full_batch,
            (Sign("itl_p50", least=0.02),),
            (
                Remedy(
                    "smaller chunks",
                    True,
                    restarted(Chunked(CHUNK, SLOTS)),
                    "continuous_batching",
                    f"--max-num-batched-tokens {CHUNK}",
                ),
                Remedy(
                    "cap the batch",
                    True,
                    restarted(Chunked(BUDGET, 64)),
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
                    restarted(Chunked(CHUNK, SLOTS)),
                    "continuous_batching",
                    f"--max-num-batched-tokens {CHUNK}",
                ),
                Remedy(
                    "cap the batch",
                    False,
                    restarted(Chunked(BUDGET, 24)),
                    "continuous_batching",
                    "--max-num-seqs 24",
                ),
            ),
        ),
    ),
    beside=("itl_p50",),
)
