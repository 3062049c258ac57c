"""Symptom of reuse: a prefix cache that hardly hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from llmserve_lab.engine import (
    LeastLoaded,
    PrefixAware,
    Report,
    Request,
)
from llmserve_lab.kv_memory.machine import BLOCK
from llmserve_lab.symptoms.case import Cause, Remedy, Sign, Symptom, Watchable
from llmserve_lab.symptoms.cases.latency import MACHINE
from llmserve_lab.symptoms.served import (
    WatchedRun,
    changed,
    poisson,
    server,
)
from llmserve_lab.workloads import Geometric

SYSTEM, QUESTION = 6_000, 300  # tokens of a system prompt, and mean of a question
RATE, FLEET_RATE, MANY = 2.0, 12.0, 300
FEW, ASSISTANTS = 20, 240  # applications, each with a system prompt of its own
REPLICAS = 4
SOON_S = 5.0  # seconds within which a system prompt comes again "at once"
NAMES = 10**6  # more than a prompt has blocks, so that names never meet


@cache
def _asked(
    seed: int, assistants: int, *, clock: bool = False, rate: float = RATE
) -> tuple[Request, ...]:
    """Questions after the system prompt of an assistant, drawn evenly.

    With a ``clock``, the system prompt opens with the time, so that no block is like
    any before it.
    """
    rng = np.random.default_rng([seed, 7])
    plain = poisson(
        rate_per_s=rate,
        many=MANY * (2 if rate > RATE else 1),
        seed=seed,
        prompt=Geometric(QUESTION),
    )
    return tuple(_named(each, int(rng.integers(assistants)), clock) for each in plain)


def _named(request: Request, assistant: int, clock: bool) -> Request:
    prompt_len = SYSTEM + request.prompt_len
    shared, blocks = SYSTEM // BLOCK, -(-prompt_len // BLOCK)
    own = -(request.id + 1) * NAMES
    first = own - NAMES // 2 if clock else (assistant + 1) * NAMES
    names = [*range(first, first + shared), *range(own, own + blocks - shared)]
    return replace(request, prompt_len=prompt_len, prefix=tuple(names), user=assistant)


def _hits(served: WatchedRun, report: Report) -> Mapping[str, float]:
    """Prompt tokens looked up and found, and found where the prompt came again.

    It came again to the same replica, within seconds: another one cannot know it.
    """
    looked_up = served.pool.prefix_caching
    by_id = {each.id: each for each in served.requests}
    prompts, again = 0, [0.0, 0.0]
    last, where = dict[tuple[int, int], float](), _replicas(report)
    for number, at_s, hits in sorted(
        zip(report.id, report.arrival_s, report.hit_tokens, strict=True),
        key=lambda each: each[1],
    ):
        request = by_id[int(number)]
        prompts += request.prompt_len
        asked = request.user, where[int(number)]
        before_s = last.get(asked)
        if before_s is not None and 1.0 <= at_s - before_s <= SOON_S:
            again[0] += float(hits)
            again[1] += request.prompt_len
        last[asked] = float(at_s)
    return {
        "hit_share": float(report.hit_tokens.sum()) / prompts,
        "queries": float(prompts) if looked_up else 0.0,
        "repeat_hits": again[0] / again[1] if again[1] else 0.0,
    }


def _replicas(report: Report) -> dict[int, int]:
    """The replica that read each prompt."""
    assert report.log is not None, "every watched run keeps its log"
    return {of: s.replica for s in report.log for of, _, _ in s.chunks}


def _cached(seed: int) -> Watchable:
    return WatchedRun(_asked(seed, FEW), server(prefix_caching=True), more=_hits)


def _off(seed: int) -> Watchable:
    return WatchedRun(_asked(seed, FEW), server(), more=_hits)


def _clock(seed: int) -> Watchable:
    requests = _asked(seed, FEW, clock=True)
    return WatchedRun(requests, server(prefix_caching=True), more=_hits)


def _evicted(seed: int) -> Watchable:
    requests = _asked(seed, ASSISTANTS, rate=FLEET_RATE)
    pool = server(replicas=REPLICAS, prefix_caching=True, routing=LeastLoaded())
    return WatchedRun(requests, pool, more=_hits)


def _time_last(setup: Watchable) -> Watchable:
    """The clock behind the system prompt: its blocks are alike again."""
    assert isinstance(setup, WatchedRun)
    names = {each.id: each for each in setup.requests}
    again = tuple(_named(_question(each), each.user, False) for each in names.values())
    return replace(setup, requests=again)


def _question(request: Request) -> Request:
    return replace(request, prompt_len=request.prompt_len - SYSTEM, prefix=())


PREFIX = Symptom(
    key="prefix-cache",
    title="A prefix cache that hardly hits",
    symptom="All prompts share long beginnings, and few of their tokens are found.",
    alarm=Sign("hit_share", most=0.5),
    goal="ttft_p50",
    rising=False,
    question="Are tokens looked up, and is a prompt found that comes again at once?",
    machine=MACHINE,
    healthy=_cached,
    healthy_load=f"2 requests/s, {FEW} system prompts of 6,000 tokens, answers of 200",
    causes=(
        Cause(
            "caching is off",
            f"2 requests/s, {FEW} system prompts of 6,000 tokens, answers of 200",
            _off,
            (Sign("queries", most=0.0),),
            (
                Remedy(
                    "turn it on",
                    True,
                    changed(prefix_caching=True),
                    "kv_memory",
                    "--enable-prefix-caching",
                ),
                Remedy(
                    "a second replica",
                    False,
                    changed(replicas=2),
                    "parallelism",
                    "--data-parallel-size 2",
                ),
            ),
        ),
        Cause(
            "prompts differ at the start",
            "the same, but each prompt opens with the present time",
            _clock,
            (Sign("queries", least=1.0), Sign("repeat_hits", most=0.1)),
            (
                Remedy("move what changes to the end", True, _time_last, "kv_memory"),
                Remedy(
                    "a second replica",
                    False,
                    changed(replicas=2),
                    "parallelism",
                    "--data-parallel-size 2",
                ),
            ),
        ),
        Cause(
            "scattered and evicted",
            f"12 requests/s on {REPLICAS} replicas, {ASSISTANTS} system prompts of "
            "6,000 tokens, answers of 200",
            _evicted,
            (Sign("queries", least=1.0), Sign("repeat_hits", least=0.1)),
            (
                Remedy(
                    "route to the replica that knows the prompt",
                    True,
                    changed(routing=PrefixAware(8)),
                    "kv_memory",
                ),
                Remedy(
                    "two more replicas",
                    False,
                    changed(replicas=REPLICAS + 2),
                    "parallelism",
                    "--data-parallel-size 6",
                ),
            ),
        ),
    ),
)
