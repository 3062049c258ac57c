"""Symptoms before the first token: a slow one, short answers that take long."""

from __future__ import annotations

from dataclasses import replace

from llmserve_lab.engine import Chunked, Static
from llmserve_lab.running_example import device, model, served_by
from llmserve_lab.symptoms.case import Cause, Remedy, Sign, Symptom, Watchable
from llmserve_lab.symptoms.served import (
    BUDGET,
    SLOTS,
    WatchedRun,
    changed,
    poisson,
    restarted,
    server,
)
from llmserve_lab.workloads import Bounded, Lognormal

MACHINE = "Llama-3.1-8B in BF16 on one H100 SXM"
CHUNK = 512  # tokens of an iteration, where pauses are to be short
CALM = 2.0  # requests per second, far below what the machine carries
LONG_PROMPT, LONG_RATE = 40_000, 0.12
FEW_SLOTS = 2
MANY = 240  # requests of a run


def calm(seed: int) -> Watchable:
    """The book's usual request at a low rate."""
    return WatchedRun(poisson(rate_per_s=CALM, many=MANY, seed=seed), server())


def _long_prompts(seed: int) -> Watchable:
    prompts = Bounded(law=Lognormal(mean=LONG_PROMPT, cv=0.2), high=100_000)
    requests = poisson(rate_per_s=LONG_RATE, many=MANY, seed=seed, prompt=prompts)
    return WatchedRun(requests, server())


def _few_slots(seed: int) -> Watchable:
    requests = poisson(rate_per_s=CALM, many=MANY, seed=seed)
    return WatchedRun(requests, server(Chunked(BUDGET, FEW_SLOTS)))


def _on_four(setup: Watchable) -> Watchable:
    assert isinstance(setup, WatchedRun)
    cost = served_by(model(), device(), tp=4)
    return replace(setup, deployment=replace(setup.pool, cost=cost))


SECOND = Remedy(
    "a second replica",
    False,
    changed(replicas=2),
    "parallelism",
    "--data-parallel-size 2",
)
OF_FEW_SLOTS = (
    Remedy(
        "more slots in the batch",
        True,
        restarted(Chunked(BUDGET, SLOTS)),
        "continuous_batching",
        f"--max-num-seqs {SLOTS}",
    ),
    Remedy(
        "a larger token budget",
        False,
        restarted(Chunked(2 * BUDGET, FEW_SLOTS)),
        "continuous_batching",
        f"--max-num-batched-tokens {2 * BUDGET}",
    ),
)
FIRST_TOKEN = Symptom(
    key="first-token",
    title="A slow first token at low load",
    symptom="The first token takes more than a second, though little is computed.",
    alarm=Sign("ttft_p50", least=1.0),
    goal="ttft_p50",
    rising=False,
    question="Is the time to first token spent in the queue, or computing the prompt?",
    machine=MACHINE,
    healthy=calm,
    healthy_load="2 requests/s of 1,000 + 200 tokens",
    causes=(
        Cause(
            "long prompts",
            "0.12 requests/s, prompts of 40,000 tokens, answers of 200",
            _long_prompts,
            (Sign("queue_share", most=0.5),),
            (
                Remedy(
                    "tensor parallelism over four GPUs",
                    True,
                    _on_four,
                    "tensor_parallel",
                    "--tensor-parallel-size 4",
                ),
                SECOND,
                Remedy(
                    "smaller chunks",
                    False,
                    restarted(Chunked(CHUNK, SLOTS)),
                    "continuous_batching",
                    f"--max-num-batched-tokens {CHUNK}",
                ),
                Remedy(
                    "larger chunks",
                    False,
                    restarted(Chunked(2 * BUDGET, SLOTS)),
                    "continuous_batching",
                    f"--max-num-batched-tokens {2 * BUDGET}",
                ),
            ),
        ),
        Cause(
            "too few slots",
            f"2 requests/s of 1,000 + 200 tokens, at most {FEW_SLOTS} in the batch",
            _few_slots,
            (Sign("queue_share", least=0.5),),
            OF_FEW_SLOTS,
        ),
    ),
)

STATIC = 16


def _static(seed: int) -> Watchable:
    requests = poisson(rate_per_s=CALM, many=MANY, seed=seed)
    return WatchedRun(requests, server(Static(STATIC)))


SHORT = Symptom(
    key="short-answers",
    title="Short answers take as long as long ones",
    symptom="An answer of thirty tokens takes nearly as long as one of four hundred.",
    alarm=Sign("short_ratio", least=0.5),
    goal="short_ratio",
    rising=False,
    question="Do slots of the batch stand empty while requests wait?",
    machine=MACHINE,
    healthy=calm,
    healthy_load="2 requests/s of 1,000 + 200 tokens, continuous batching",
    causes=(
        Cause(
            "static batching",
            f"2 requests/s of 1,000 + 200 tokens, static batches of {STATIC}",
            _static,
            (Sign("idle_slots", least=0.2),),
            (
                Remedy(
                    "continuous batching",
                    True,
                    restarted(Chunked(BUDGET, STATIC)),
                    "continuous_batching",
                ),
                Remedy(
                    "a larger static batch",
                    False,
                    restarted(Static(2 * STATIC)),
                    "continuous_batching",
                ),
            ),
        ),
        Cause(
            "a full batch",
            f"2 requests/s of 1,000 + 200 tokens, at most {FEW_SLOTS} in the batch",
            _few_slots,
            (Sign("idle_slots", most=0.2),),
            OF_FEW_SLOTS,
        ),
    ),
)
