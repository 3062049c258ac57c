"""Heterogeneous pools: prefill on one kind of GPU, decode on a cheaper one, priced."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from llmserve_lab import catalog, running_example
from llmserve_lab.capacity.deployment import HOUR_S, hourly
from llmserve_lab.capacity.level import ServiceLevel
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.triangle import LEVEL, LOADS, MeanLengths
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    Disaggregated,
    IterationCost,
    Pool,
    Request,
    simulate,
)
from llmserve_lab.workloads import Bounded, Geometric, Lognormal, poisson_requests

LINK = "infiniband-ndr"
SECONDS, HALVINGS, MOST_PER_GPU = 120.0, 9, 40.0
LONG_S = 600.0  # where a goodput is looked for: a run begins with an empty server
H100, A100, B200 = "h100-sxm", "a100-80-sxm", "b200-sxm"


@dataclass(frozen=True)
class GpuMix:
    """GPUs of one kind for prefill and of another for decode; or one kind for both."""

    prefill: str
    n_prefill: int
    decode: str = ""
    n_decode: int = 0

    @property
    def dollars_per_hour(self) -> float:
        """What all of them cost."""
        more = self.n_decode * hourly(self.decode) if self.decode else 0.0
        return self.n_prefill * hourly(self.prefill) + more

    @property
    def way(self) -> Pool | Disaggregated:
        """As the engine runs it."""
        if not self.decode:
            return Pool(cost_of(self.prefill), Chunked(2048), replicas=self.n_prefill)
        link = catalog.link(LINK)
        return Disaggregated.over(
            link,
            prefill=Pool(
                cost_of(self.prefill), Continuous(max_batch=1), replicas=self.n_prefill
            ),
            decode=Pool(cost_of(self.decode), Continuous(), replicas=self.n_decode),
            streamed=True,
            eff_link=float(running_example.share().link),
            link_latency_s=float(link.latency or 0),
        )

    def __str__(self) -> str:
        first = f"{self.n_prefill} {catalog.accelerator(self.prefill).name}"
        if not self.decode:
            return f"{first}, each for both phases"
        return (
            f"{first} for prefill, "
            f"{self.n_decode} {catalog.accelerator(self.decode).name} for decode"
        )


MIXES = (
    GpuMix(H100, 4),
    GpuMix(H100, 2, H100, 2),
    GpuMix(H100, 2, A100, 3),
    GpuMix(H100, 1, A100, 2),
    GpuMix(A100, 4),
    GpuMix(A100, 2, A100, 2),
    GpuMix(B200, 2),
)


@cache
def cost_of(device: str) -> IterationCost:
    """An iteration of the book's model on one GPU of a kind."""
    return running_example.served_by(
        running_example.model(), catalog.accelerator(device)
    )


def asked(demand: MeanLengths, per_s: float, seconds: float = SECONDS) -> list[Request]:
    """Poisson arrivals at a rate for so many seconds."""
    law = Bounded(law=Lognormal(mean=demand.prompt, cv=0.5), high=4 * demand.prompt)
    found = poisson_requests(
        rate_per_s=per_s,
        prompt=law,
        output=Geometric(demand.answer),
        num_requests=max(1, round(per_s * seconds)),
        seed=1,
    )
    return list(found)


def carried(
    mix: GpuMix,
    *,
    demand: MeanLengths = LOADS[0],
    level: ServiceLevel = LEVEL,
    seconds: float = LONG_S,
) -> float:
    """Largest rate at which the level is kept, found by halving an interval."""
    low, high = 0.0, MOST_PER_GPU * (mix.n_prefill + mix.n_decode)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        requests = asked(demand, middle, seconds)
        kept = level.kept(simulate(requests, mix.way))
        low, high = (middle, high) if kept.good else (low, middle)
    return low


def carried_all() -> dict[str, float]:
    """Goodput of every mix, by its name."""
    return {str(mix): round(carried(mix), 2) for mix in MIXES}


def goodput(mix: GpuMix) -> float:
    """The stored goodput, in requests per second."""
    return float(recorded()["pools"][str(mix)])


def dollars_per_million(mix: GpuMix, rate: float | None = None) -> float:
    """Dollars for a million requests at the goodput, or at another rate."""
    return 1e6 * mix.dollars_per_hour / (HOUR_S * (rate or goodput(mix)))
