"""Throughput, latency and cost of a replica, traced by the engine as the load grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log

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
SECONDS = 120.0  # of arrivals at a rate
RELAXED = ServiceLevel(ttft_s=0.5, tpot_s=0.05)
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
    worst: tuple[tuple[float, ...], ...]  # P90 of the worse time over its target


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
            worst=tuple(map(tuple, row[7])),
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
    """Largest rate at which nine in ten keep both; 0 where they do not at the lowest.

    Between two rates the time that nine in ten keep lies on the line that the page
    draws, straight in its logarithm. Of another share of the requests only the shares
    in time are stored: straight lines between these.

    Raises:
        ValueError: the targets are not among those that are stored.
    """
    at = stored_ttft(ttft_s), stored_tpot(tpot_s)
    rates = [each.per_s for each in found]
    shares = [each.kept[at[0]][at[1]] for each in found]
    if shares[0] < enough:
        return 0.0
    if enough != ENOUGH:
        return rate_kept(rates, shares, enough)
    # The larger time is at least each of both: stored to five digits, it may be less.
    times = [
        max(each.worst[at[0]][at[1]], each.ttft_s / ttft_s, each.tpot_s / tpot_s)
        for each in found
    ]
    return reached(rates, times)


def reached(rates: Sequence[float], times: Sequence[float]) -> float:
    """Rate at which a time over its target becomes 1; logarithms on straight lines."""
    pairs = list(zip(rates, times, strict=True))
    if times[0] > 1:
        return 0.0
    for (low, before), (high, after) in pairwise(pairs):
        if after > 1:
            part = -log(before) / log(after / before)
            return float(low * (high / low) ** part)
    return float(rates[-1])


def rate_in_time(found: tuple[TracedRate, ...], ttft_s: float, tpot_s: float) -> float:
    """Largest rate at which nine in ten keep the TTFT target, whatever the other."""
    times = [at.ttft_s / TTFTS_S[stored_ttft(ttft_s)] for at in found]
    return reached([at.per_s for at in found], times)


def rate_in_pace(found: tuple[TracedRate, ...], ttft_s: float, tpot_s: float) -> float:
    """Largest rate at which nine in ten keep the TPOT target, whatever the other."""
    times = [at.tpot_s / TPOTS_S[stored_tpot(tpot_s)] for at in found]
    return reached([at.per_s for at in found], times)


def binding(found: tuple[TracedRate, ...], ttft_s: float, tpot_s: float) -> Target:
    """The target that is missed first as the rate grows."""
    soon, steady = (
        read(found, ttft_s, tpot_s) for read in (rate_in_time, rate_in_pace)
    )
    return "ttft" if soon < steady else "tpot"
