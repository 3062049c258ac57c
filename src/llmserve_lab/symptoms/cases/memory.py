"""Symptoms of memory: preemption storms, arithmetic that lies idle in decode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from llmserve_lab.catalog import Cited
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.engine import Chunked, Report
from llmserve_lab.kv_memory.machine import SHARE_NOW
from llmserve_lab.running_example import share
from llmserve_lab.symptoms.case import Cause, Remedy, Sign, Symptom, Watchable
from llmserve_lab.symptoms.cases.latency import MACHINE, SECOND
from llmserve_lab.symptoms.dashboard import steady_window_s
from llmserve_lab.symptoms.served import (
    BUDGET,
    ROUNDS,
    SLOTS,
    WatchedRun,
    backlog,
    restarted,
    server,
    with_clients,
    with_share,
)
from llmserve_lab.workloads import Always, Geometric

MORE = f"--gpu-memory-utilization {float(SHARE_NOW):.2f}"
WAS = f"{float(MEMORY_SHARE):.2f}"  # the share before
SAFE = 150  # slots, below storm.slots_on_average of 1,000 + 1,500 tokens
LITTLE = Cited(0.45, "dimensionless", "convention", "a GPU shared with something else")
CLIENTS, FEWER = 280, 160


def _calm(seed: int) -> Watchable:
    return WatchedRun(
        backlog(many=400, seed=seed, answer=Geometric(600)), server(), clients=64
    )


def _outgrown(seed: int) -> Watchable:
    requests = backlog(many=ROUNDS * CLIENTS, seed=seed, answer=Geometric(1500))
    return WatchedRun(requests, server(), clients=CLIENTS)


def _squeezed(seed: int) -> Watchable:
    requests = backlog(many=ROUNDS * FEWER, seed=seed, answer=Geometric(600))
    return WatchedRun(requests, server(share=LITTLE), clients=FEWER)


def _half_the_cache(setup: Watchable) -> Watchable:
    assert isinstance(setup, WatchedRun)
    cost = setup.pool.cost
    eight = replace(
        cost,
        kv_token_s=cost.kv_token_s / 2,
        kv_bytes_per_token=cost.kv_bytes_per_token / 2,
    )
    blocks = 2 * setup.pool.num_blocks
    return replace(setup, deployment=replace(setup.pool, cost=eight, kv_blocks=blocks))


EIGHT_BITS = Remedy(
    "8 bits for the cache",
    True,
    _half_the_cache,
    "quantization",
    "--kv-cache-dtype fp8",
)
STORM = Symptom(
    key="preemption-storm",
    title="A preemption storm",
    symptom="Preemptions climb: more than one for every ten requests.",
    alarm=Sign("preemptions", least=0.1),
    goal="preemptions",
    rising=False,
    question="How many KV blocks did the server find when it started?",
    machine=MACHINE,
    healthy=_calm,
    healthy_load="64 clients, 1,000 + 600 tokens",
    causes=(
        Cause(
            "answers outgrow the cache",
            f"{CLIENTS} clients, 1,000 + 1,500 tokens",
            _outgrown,
            (Sign("blocks", least=20_000),),
            (
                Remedy(
                    "fewer slots",
                    True,
                    restarted(Chunked(BUDGET, SAFE)),
                    "kv_memory",
                    f"--max-num-seqs {SAFE}",
                ),
                EIGHT_BITS,
                replace(SECOND, helps=True),
                Remedy(
                    "a larger share of the memory",
                    False,
                    with_share(SHARE_NOW),
                    "kv_memory",
                    MORE,
                ),
                Remedy(
                    "a smaller token budget",
                    False,
                    restarted(Chunked(2048, SLOTS)),
                    "continuous_batching",
                    "--max-num-batched-tokens 2048",
                ),
            ),
        ),
        Cause(
            "little memory for the cache",
            f"{FEWER} clients, 1,000 + 600 tokens, 45% of the memory",
            _squeezed,
            (Sign("blocks", most=20_000),),
            (
                Remedy(
                    "a larger share of the memory",
                    True,
                    with_share(SHARE_NOW),
                    "kv_memory",
                    MORE,
                ),
                Remedy(
                    "a smaller token budget",
                    False,
                    restarted(Chunked(2048, SLOTS)),
                    "continuous_batching",
                    "--max-num-batched-tokens 2048",
                ),
            ),
        ),
    ),
    beside=("recomputed", "itl_p50"),
)


def _decoding(served: WatchedRun, report: Report) -> Mapping[str, float]:
    """What iterations without prompts make of the peak, and how much they write.

    Those of the steady window: in its ramp and its drain few requests run.
    """
    assert report.log is not None, "kept by every run"
    begin_s, end_s = steady_window_s(report)
    steps = [
        each
        for each in report.log
        if not each.chunks and begin_s <= each.start_s < end_s
    ]
    seconds = sum(each.end_s - each.start_s for each in steps)
    computing = sum(each.compute_s for each in steps)
    tokens = sum(each.decode_rows * each.count for each in steps)
    return {
        "mfu": computing / seconds * float(share().compute),
        "decode_per_s": tokens / seconds,
    }


def _decode(seed: int, context: int, clients: int, many: int) -> WatchedRun:
    requests = backlog(
        many=many, seed=seed, prompt=Always(context), answer=Geometric(600)
    )
    return WatchedRun(requests, server(), clients=clients, more=_decoding)


FLOPS = "twice the peak FLOP/s"


def _twice_the_math(setup: Watchable) -> Watchable:
    assert isinstance(setup, WatchedRun)
    cost = setup.pool.cost
    faster = replace(cost, row_s=cost.row_s / 2, pair_s=cost.pair_s / 2)
    return replace(setup, deployment=replace(setup.pool, cost=faster))


IDLE_MATH = Symptom(
    key="idle-arithmetic",
    title="Decode leaves the arithmetic idle",
    symptom="The GPU is busy all the time, and uses little of its peak FLOP/s.",
    alarm=Sign("mfu", most=0.05),
    goal="decode_per_s",
    rising=True,
    question="Is the KV cache full, and do requests wait for it?",
    machine=MACHINE,
    healthy=lambda seed: _decode(seed, 200, 384, ROUNDS * 384),
    healthy_load="384 clients, 200 + 600 tokens",
    causes=(
        Cause(
            "few requests at a time",
            "8 clients, 200 + 600 tokens",
            lambda seed: _decode(seed, 200, 8, ROUNDS * 64),
            (Sign("kv_peak", most=0.5),),
            (
                Remedy("more requests at a time", True, with_clients(64), "roofline"),
                Remedy(FLOPS, False, _twice_the_math, "roofline"),
            ),
        ),
        Cause(
            "a full cache",
            "64 clients, 30,000 + 600 tokens",
            lambda seed: _decode(seed, 30_000, 64, ROUNDS * 64),
            (Sign("kv_peak", least=0.9),),
            (
                EIGHT_BITS,
                Remedy("more requests at a time", False, with_clients(128), "roofline"),
            ),
        ),
    ),
    beside=("itl_p50",),
)
