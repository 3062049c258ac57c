"""Symptoms of many GPUs: fewer tokens from each, unequal pools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.engine import Chunked, Continuous, Disaggregated, Pool, Report
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.running_example import share
from llmserve_lab.symptoms.case import Cause, Remedy, Sign, Symptom, Watchable
from llmserve_lab.symptoms.cases.latency import MACHINE
from llmserve_lab.symptoms.dashboard import steady_tokens_per_s
from llmserve_lab.symptoms.served import (
    BUDGET,
    ROUNDS,
    SLOTS,
    WatchedRun,
    backlog,
    poisson,
    server,
)
from llmserve_lab.workloads import Geometric

FAR = catalog.link("infiniband-ndr")
ONE = GpuLayout(tp=4)
TWO_SERVERS = GpuLayout(tp=8, servers=2, nics=1, between=FAR)
TWO_REPLICAS = GpuLayout(tp=4, replicas=2)


def _pool(layout: GpuLayout) -> Pool:
    return Pool(layout.cost(), Chunked(BUDGET, SLOTS), replicas=layout.replicas)


def _gpus(pool: Pool) -> int:
    return pool.replicas * pool.cost.n_gpus


def _compared(served: WatchedRun, report: Report) -> Mapping[str, float]:
    """Tokens of a GPU, and time between tokens, over those with half of the GPUs."""
    assert served.before is not None, "a run with fewer GPUs"
    before = served.before.report()
    rates = [
        steady_tokens_per_s(each) / _gpus(of.pool)
        for each, of in ((report, served), (before, served.before))
    ]
    return {
        "scaling": rates[0] / rates[1],
        "total": rates[0] / rates[1] * _gpus(served.pool) / _gpus(served.before.pool),
        "itl_ratio": report.percentile("tbt", 50) / before.percentile("tbt", 50),
    }


CLIENTS = 128


def _closed(layout: GpuLayout, clients: int, seed: int) -> WatchedRun:
    requests = backlog(many=ROUNDS * CLIENTS, seed=seed)
    first = WatchedRun(requests, _pool(ONE), clients=clients)
    return replace(first, deployment=_pool(layout), more=_compared, before=first)


def _open(layout: GpuLayout, seed: int) -> WatchedRun:
    requests = poisson(rate_per_s=2.0, many=240, seed=seed)
    first = WatchedRun(requests, _pool(ONE))
    return replace(first, deployment=_pool(layout), more=_compared, before=first)


def _laid_out(layout: GpuLayout) -> Callable[[Watchable], Watchable]:
    def change(setup: Watchable) -> Watchable:
        assert isinstance(setup, WatchedRun)
        return replace(setup, deployment=_pool(layout))

    return change


def _more_at_a_time(setup: Watchable) -> Watchable:
    """Twice the clients on eight GPUs; compared with four GPUs as they were."""
    assert isinstance(setup, WatchedRun)
    return replace(setup, clients=2 * CLIENTS)


def _twice_the_traffic(setup: Watchable) -> Watchable:
    """As many requests in half of the time."""
    assert isinstance(setup, WatchedRun)
    sooner = tuple(
        replace(each, arrival_s=each.arrival_s / 2) for each in setup.requests
    )
    return replace(setup, requests=sooner)


GPUS = Symptom(
    key="more-gpus",
    title="More GPUs, fewer tokens from each",
    symptom="With twice the GPUs each writes less than two thirds of what it did.",
    alarm=Sign("scaling", most=0.6),
    goal="scaling",
    rising=True,
    question="Have the tokens of all GPUs together become fewer?",
    machine="Llama-3.1-70B in BF16 on H100 SXM, four and then eight",
    healthy=lambda seed: _closed(TWO_REPLICAS, 2 * CLIENTS, seed),
    healthy_load=(
        "256 clients, 1,000 + 200 tokens, two copies of the model, each cut over four "
        "GPUs; before: four GPUs that serve the same clients"
    ),
    causes=(
        Cause(
            "an all-reduce between servers",
            f"{CLIENTS} clients, 1,000 + 200 tokens, one model cut over two servers of "
            "four GPUs with one network card each",
            lambda seed: _closed(TWO_SERVERS, CLIENTS, seed),
            (Sign("total", most=0.9),),
            (
                Remedy(
                    "two replicas, each in its server",
                    True,
                    _laid_out(TWO_REPLICAS),
                    "parallelism",
                    "--data-parallel-size 2",
                ),
                Remedy(
                    "a network card for every GPU",
                    True,
                    _laid_out(replace(TWO_SERVERS, nics=4)),
                    "parallelism",
                ),
                Remedy(
                    "more requests at a time",
                    False,
                    _more_at_a_time,
                    "tensor_parallel",
                ),
            ),
        ),
        Cause(
            "no more work to do",
            "2 requests/s of 1,000 + 200 tokens, two copies, each cut over four GPUs",
            lambda seed: _open(TWO_REPLICAS, seed),
            (Sign("total", least=0.9),),
            (
                Remedy("twice the traffic", True, _twice_the_traffic, "parallelism"),
                Remedy(
                    "one group of eight in one server",
                    False,
                    _laid_out(GpuLayout(tp=8)),
                    "tensor_parallel",
                    "--tensor-parallel-size 8",
                ),
            ),
        ),
    ),
    beside=("itl_p50",),
)

PD_RATE, PD_PROMPT, PD_ANSWER, PD_MANY = 24.0, 2000, 400, 800
FAST_GBIT_S, SLOW_GBIT_S = 400.0, 25.0
BITS, GIGA = 8, 1e9


@dataclass(frozen=True)
class PoolSplit:
    """GPUs that read prompts, GPUs that write answers, and the link between them."""

    n_prefill: int
    n_decode: int
    gbit_s: float = FAST_GBIT_S
    streamed: bool = False

    def pools(self) -> Disaggregated:
        """The two pools of the engine; prompts are read one by one."""
        return Disaggregated(
            prefill=server(Continuous(1), replicas=self.n_prefill),
            decode=server(Continuous(), replicas=self.n_decode),
            bytes_per_s=self.gbit_s * GIGA / BITS * float(share().link),
            latency_s=float(FAR.latency or 0),
            streamed=self.streamed,
        )

    def build(self, seed: int) -> Watchable:
        """The load of the case on this split."""
        requests = poisson(
            rate_per_s=PD_RATE,
            many=PD_MANY,
            seed=seed,
            prompt=Geometric(PD_PROMPT),
            answer=Geometric(PD_ANSWER),
        )
        return WatchedRun(requests, self.pools(), more=_waits)

    def change(self, setup: Watchable) -> Watchable:
        """The same load on this split."""
        assert isinstance(setup, WatchedRun)
        return replace(setup, deployment=self.pools())


def _waits(served: WatchedRun, report: Report) -> Mapping[str, float]:
    """Median waits: before prefill, and on the link."""
    return {
        "prefill_wait": float(np.median(report.queue_s)),
        "transfer": float(np.median(report.transfer_s)),
    }


TWO_TWO, EVEN = "two GPUs in each pool", PoolSplit(2, 2)
FASTER = "a faster link"
LOAD = "24 requests/s of 2,000 + 400 tokens"
POOLS = Symptom(
    key="pools",
    title="Prefill and decode pools out of balance",
    symptom="Answers take six seconds and more, although some of the four GPUs rest.",
    alarm=Sign("e2e_p50", least=6.0),
    goal="e2e_p50",
    rising=False,
    question="Where does the time go: before prefill, on the link, or between tokens?",
    machine=MACHINE.replace("one H100", "each of four H100"),
    healthy=EVEN.build,
    healthy_load=f"{LOAD}, two and two GPUs, 400 Gbit/s",
    causes=(
        Cause(
            "too few prefill GPUs",
            f"{LOAD}, one prefill and three decode GPUs, 400 Gbit/s",
            PoolSplit(1, 3).build,
            (Sign("prefill_wait", least=1.0), Sign("transfer", most=1.0)),
            (
                Remedy(TWO_TWO, True, EVEN.change, "disaggregation"),
                Remedy(FASTER, False, PoolSplit(1, 3, 800.0).change, "disaggregation"),
            ),
        ),
        Cause(
            "too few decode GPUs",
            f"{LOAD}, three prefill and one decode GPU, 400 Gbit/s",
            PoolSplit(3, 1).build,
            (
                Sign("prefill_wait", most=1.0),
                Sign("transfer", most=1.0),
                Sign("itl_p50", least=0.018),
            ),
            (
                Remedy(TWO_TWO, True, EVEN.change, "disaggregation"),
                Remedy(FASTER, False, PoolSplit(3, 1, 800.0).change, "disaggregation"),
            ),
        ),
        Cause(
            "a slow link",
            f"{LOAD}, two and two GPUs, 25 Gbit/s",
            PoolSplit(2, 2, SLOW_GBIT_S).build,
            (Sign("prefill_wait", most=1.0), Sign("transfer", least=1.0)),
            (
                Remedy(FASTER, True, EVEN.change, "disaggregation"),
                Remedy(
                    "send layer by layer",
                    False,
                    PoolSplit(2, 2, SLOW_GBIT_S, True).change,
                    "disaggregation",
                ),
            ),
        ),
    ),
)
