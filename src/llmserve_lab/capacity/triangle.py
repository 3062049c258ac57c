"""Throughput, latency and cost of a replica, traced by the engine as the load grows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab import catalog, running_example
from llmserve_lab.capacity.level import ServiceLevel, Target
from llmserve_lab.capacity.record import recorded
from llmserve_lab.catalog.data.prices import HOURLY
from llmserve_lab.catalog.selection import (
    beginning_with,
    driver_known,
    in_servers,
    stacks_known,
)
from llmserve_lab.checks import key_of
from llmserve_lab.disaggregation.goodput import ENOUGH, rate_kept
from llmserve_lab.engine import Chunked, Pool, Report, simulate
from llmserve_lab.running_example import ANSWER, PROMPT
from llmserve_lab.workloads import Bounded, Geometric, Lognormal, poisson_requests

ROWS = 2048  # budget of an iteration, vLLM: max_num_batched_tokens
MODELS = {"llama-3.1-8b": 1, "llama-3.1-70b": 4}  # and the GPUs of a replica
DEVICES = tuple(
    each.key
    for each in beginning_with(
        running_example.DEVICE, in_servers("bf16", stacks_known, driver_known)
    )
    if each.key in HOURLY
)
TTFTS_S = (0.2, 0.5, 1.0, 2.0, 5.0)
TPOTS_S = (0.015, 0.02, 0.03, 0.05, 0.1)
LEVEL = ServiceLevel(ttft_s=0.5, tpot_s=0.02)  # of the page
SECONDS = 120.0  # of arrivals at each rate
# Rates, as shares of what comes out of a short backlog.
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5)
LASTS_S = 5.0  # beyond this P90 of TTFT the queue grows while the run lasts


@dataclass(frozen=True)
class MeanLengths:
    """Mean lengths of prompt and answer."""

    prompt: int = PROMPT
    answer: int = ANSWER

    def __str__(self) -> str:
        return f"{self.prompt:,} in, {self.answer} out"


LOADS = (
    MeanLengths(),
    MeanLengths(4 * PROMPT, ANSWER),
    MeanLengths(PROMPT // 2, 3 * ANSWER),
)


@dataclass(frozen=True)
class TracedRate:
    """What one replica delivers at a rate of arrivals."""

    per_s: float
    ttft_s: float
    tpot_s: float
    tokens_per_s: float
    kept: tuple[tuple[float, ...], ...]  # both targets, by TTFTS_S and TPOTS_S
    soon: tuple[float, ...]  # the first target alone, by TTFTS_S
    steady: tuple[float, ...]  # the second alone, by TPOTS_S


def pool(model: str, device: str, rows: int = ROWS) -> Pool:
    """One replica, fitted to servers, with chunked prefill."""
    shape, gpu = catalog.model(model), catalog.accelerator(device)
    cost = running_example.served_by(shape, gpu, tp=MODELS.get(model, 1))
    return Pool(cost, Chunked(rows))


def served(
    demand: MeanLengths,
    per_s: float,
    pool: Pool,
    *,
    seconds: float = SECONDS,
    seed: int = 1,
) -> Report:
    """Poisson arrivals: prompts vary by half their mean, answers are geometric."""
    law = Bounded(law=Lognormal(mean=demand.prompt, cv=0.5), high=4 * demand.prompt)
    requests = poisson_requests(
        rate_per_s=per_s,
        prompt=law,
        output=Geometric(demand.answer),
        num_requests=max(20, round(per_s * seconds)),
        seed=seed,
    )
    return simulate(requests, pool)


def saturation(demand: MeanLengths, pool: Pool) -> float:
    """Requests per second out of a backlog that never ends."""
    done = np.sort(served(demand, 1000.0, pool, seconds=1.2).finished_s)
    quarter = len(done) // 4
    return float(2 * quarter / (done[3 * quarter] - done[quarter]))


def point(report: Report, per_s: float) -> list[Any]:
    """One rate as it is stored: numbers to five digits."""
    tokens = per_s * float(report.output_len.mean())
    ends = (
        ServiceLevel(1, 1).kept(report).nearest_ttft_s,
        ServiceLevel(1, 1).kept(report).nearest_tpot_s,
    )
    kept = [
        [report.slo_attainment(ttft_s=first, tpot_s=each) for each in TPOTS_S]
        for first in TTFTS_S
    ]
    soon = [report.slo_attainment(ttft_s=first) for first in TTFTS_S]
    steady = [report.slo_attainment(tpot_s=each) for each in TPOTS_S]
    head = [float(f"{x:.5g}") for x in (per_s, *ends, tokens)]
    return [*head, _rounded(kept), _rounded(soon), _rounded(steady)]


def _rounded(found: Any) -> Any:
    return np.round(np.array(found), 4).tolist()


def traced_all() -> dict[str, Any]:
    """Points of every model, GPU and load, by name."""
    found: dict[str, Any] = {}
    for model in MODELS:
        for device in DEVICES:
            for demand in LOADS:
                one = pool(model, device)
                most = saturation(demand, one)
                rates = [float(f"{share * most:.3g}") for share in SHARES]
                rows = [point(served(demand, rate, one), rate) for rate in rates]
                found[f"{model}, {device}, {demand}"] = rows
    return found


@cache
def points(
    model: str = "llama-3.1-8b",
    device: str = "h100-sxm",
    demand: MeanLengths = LOADS[0],
) -> tuple[TracedRate, ...]:
    """The stored points of a model on a GPU under a load, slowest first."""
    rows = recorded()["triangle"][f"{model}, {device}, {demand}"]
    return tuple(
        TracedRate(
            per_s=row[0],
            ttft_s=row[1],
            tpot_s=row[2],
            tokens_per_s=row[3],
            kept=tuple(map(tuple, row[4])),
            soon=tuple(row[5]),
            steady=tuple(row[6]),
        )
        for row in rows
    )


def stored_ttft(ttft_s: float) -> int:
    """Where a target is among those that are stored.

    Raises:
        ValueError: it is not among them.
    """
    key_of("ttft_s", ttft_s, TTFTS_S)
    return TTFTS_S.index(ttft_s)


def stored_tpot(tpot_s: float) -> int:
    """The same for the other target.

    Raises:
        ValueError: it is not among them.
    """
    key_of("tpot_s", tpot_s, TPOTS_S)
    return TPOTS_S.index(tpot_s)


def goodput(
    found: tuple[TracedRate, ...], ttft_s: float, tpot_s: float, enough: float = ENOUGH
) -> float:
    """Largest rate at which nine in ten keep both, between the rates on straight lines.

    Or another share of the requests; 0 where it does not even at the lowest rate.

    Raises:
        ValueError: the targets are not among those that are stored.
    """
    at = stored_ttft(ttft_s), stored_tpot(tpot_s)
    shares = [each.kept[at[0]][at[1]] for each in found]
    if shares[0] < enough:
        return 0.0
    return rate_kept([each.per_s for each in found], shares, enough)


def goodput_of_draw(seed: int) -> float:
    """Goodput of the page's replica by another draw, at finer steps of the rate.

    The steps lie between the two stored rates between which the goodput lies.
    """
    found, one = points(), pool("llama-3.1-8b", "h100-sxm")
    rate = goodput(found, LEVEL.ttft_s, LEVEL.tpot_s)
    above = next(k for k, at in enumerate(found) if at.per_s > rate)
    rates = np.linspace(found[above - 1].per_s, found[above].per_s, 6).tolist()
    shares = [
        served(LOADS[0], rate, one, seed=seed).slo_attainment(
            ttft_s=LEVEL.ttft_s, tpot_s=LEVEL.tpot_s
        )
        for rate in rates
    ]
    return rate_kept(rates, shares)


def rate_in_time(found: tuple[TracedRate, ...], ttft_s: float, tpot_s: float) -> float:
    """Largest rate at which nine in ten keep the TTFT target, whatever the other."""
    first = stored_ttft(ttft_s)
    return rate_kept([at.per_s for at in found], [at.soon[first] for at in found])


def rate_in_pace(found: tuple[TracedRate, ...], ttft_s: float, tpot_s: float) -> float:
    """Largest rate at which nine in ten keep the TPOT target, whatever the other."""
    each = stored_tpot(tpot_s)
    return rate_kept([at.per_s for at in found], [at.steady[each] for at in found])


def binding(found: tuple[TracedRate, ...], ttft_s: float, tpot_s: float) -> Target:
    """The target that is missed first as the rate grows."""
    soon, steady = (
        read(found, ttft_s, tpot_s) for read in (rate_in_time, rate_in_pace)
    )
    return "ttft" if soon < steady else "tpot"
