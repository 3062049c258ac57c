"""The runs that are stored: a burst under autoscalers, the hour, the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from llmserve_lab import running_example
from llmserve_lab.capacity import search as find
from llmserve_lab.capacity.autoscaling import (
    Autoscaler,
    ScaledRun,
    Signal,
    Span,
    scaled,
)
from llmserve_lab.capacity.deployment import Candidate, grid
from llmserve_lab.capacity.level import ServiceLevel
from llmserve_lab.capacity.loads import asked, ramp
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.sweep import LONG_S
from llmserve_lab.capacity.trace import HOUR_S, MINUTE_S, azure_hour
from llmserve_lab.capacity.triangle import LEVEL, LOADS, pool, served
from llmserve_lab.catalog.evidence.serving import DEFAULT_SEQS
from llmserve_lab.engine import Chunked, Pool, Report, Request, simulate
from llmserve_lab.validation.room import working_bytes

LOW, HIGH = 10.0, 40.0  # requests per second, before the burst and in it
UP_MIN, RAMP_MIN, DOWN_MIN, LASTS_MIN = 5.0, 3.0, 18.0, 30.0
SLOW_S, FAST_S = 180.0, 30.0  # cold starts: image, weights, graphs; or a snapshot
MOST, HALVINGS = 8, 11
DEFAULTS, DEFAULT_BUDGET = "vLLM's default limits", 8192
SEARCHED = ServiceLevel(ttft_s=1.0, tpot_s=0.05)  # of the 70B model on the trace
TARGETS: dict[str, tuple[Signal, float]] = {
    "waiting requests, 5 a replica": ("queue", 5.0),
    "KV cache in use, 80%": ("kv", 0.8),
    "KV cache in use, 10%": ("kv", 0.1),
    "TTFT of nine in ten, 0.5 s": ("ttft", 0.5),
    "requests in flight, 35 a replica": ("requests", 35.0),
}


@cache
def burst(seed: int = 1) -> tuple[Request, ...]:
    """Half an hour whose rate grows fourfold within three minutes, and falls again."""
    rate = ramp(low=LOW, high=HIGH, up_min=UP_MIN, ramp_min=RAMP_MIN, down_min=DOWN_MIN)
    return asked(rate, seconds=LASTS_MIN * MINUTE_S, most=HIGH, seed=seed)


def policies(cold_s: float) -> dict[str, Autoscaler]:
    """The autoscalers that are compared, by what they watch, and a fixed number."""
    found = {
        name: Autoscaler(signal, target, cold_s=cold_s, most=MOST)
        for name, (signal, target) in TARGETS.items()
    }
    return found | {"none: 3 from the start": Autoscaler("none", fewest=3, most=MOST)}


def stored(run: ScaledRun) -> dict[str, Any]:
    """A run as it is stored, minute by minute."""
    minutes = [
        [m.ready, m.starting, m.waiting, float(f"{m.signal:.4g}")] for m in run.minutes
    ]
    kept = LEVEL.kept(run.report)
    return {
        "minutes": minutes,
        "missed": run.missed_by_minute(LEVEL).astype(int).tolist(),
        "kept": round(kept.both, 4),
        "ttft_s": round(kept.nearest_ttft_s, 3),
        # Of the same half hour for all: what is left over is worked off unpaid.
        "gpu_h": round(run.replica_s_until(LASTS_MIN * MINUTE_S) / 3600, 3),
        "starts": run.starts,
        "spans": [
            [round(min(each, LASTS_MIN * MINUTE_S)) for each in span]
            for span in run.spans
        ],
    }


def scaled_all() -> dict[str, Any]:
    """The burst under every autoscaler, by cold start and by what is watched."""
    one = pool("llama-3.1-8b", "h100-sxm")
    return {
        f"{cold_s:g}": {
            name: stored(scaled(burst(), one, policy))
            for name, policy in policies(cold_s).items()
        }
        for cold_s in (SLOW_S, FAST_S)
    } | {DEFAULTS: scaled_by_default()}


def by_default() -> Pool:
    """The replica with vLLM's default limits on an H100, and the cache they leave."""
    one = pool("llama-3.1-8b", "h100-sxm")
    slots = int(float(DEFAULT_SEQS))
    reserved = working_bytes(slots, vocab=running_example.model().vocab)
    blocks = one.cost.kv_blocks(reserved_bytes=reserved)
    return Pool(one.cost, Chunked(DEFAULT_BUDGET, slots), kv_blocks=blocks)


def scaled_by_default() -> dict[str, Any]:
    """The burst with the slow start under vLLM's default limits."""
    one = by_default()
    return {
        name: stored(scaled(burst(), one, policy))
        for name, policy in policies(SLOW_S).items()
    }


@dataclass(frozen=True)
class Stored:
    """A scaled run as recorded: rows of minutes, misses, share kept, GPU hours."""

    ready: tuple[int, ...]
    starting: tuple[int, ...]
    waiting: tuple[int, ...]
    signal: tuple[float, ...]
    missed: tuple[int, ...]
    kept: float
    ttft_s: float
    gpu_h: float
    starts: int
    spans: tuple[Span, ...]  # to the end of the half hour

    def first_drop(self) -> int:
        """Minute, counted from 1, in which fewer replicas serve than before."""
        pairs = enumerate(pairwise(self.ready), start=2)
        return next(minute for minute, (one, two) in pairs if two < one)

    def added(self) -> int:
        """Most replicas that serve at a time, less those that serve at first."""
        return max(self.ready) - self.ready[0]

    def starting_usd(self, hourly: float, cold_s: float = SLOW_S) -> float:
        """Rent of the added replicas while they start, at so many dollars an hour."""
        return hourly * self.added() * cold_s / HOUR_S


def slots() -> int:
    """Requests that one replica of the burst runs at a time, at most."""
    policy = pool("llama-3.1-8b", "h100-sxm").policy
    assert isinstance(policy, Chunked)
    return policy.max_batch


def little(rate: float, replicas: int = 1) -> tuple[float, float]:
    """Mean latency on H100s at a rate, and by Little's law requests in flight."""
    one = pool("llama-3.1-8b", "h100-sxm")
    several = Pool(one.cost, one.policy, replicas=replicas)
    report = served(LOADS[0], rate, several, seconds=LONG_S)
    latency_s = float(report.latency_s.mean())
    return latency_s, rate * latency_s


@cache
def hour_at_goodput() -> tuple[Report, float]:
    """The hour, played at the goodput of one H100 for it, and that rate."""
    from llmserve_lab.workloads import faster

    requests, rate = azure_hour(), float(recorded()["hour"]["goodput_per_s"])
    times = rate * requests[-1].arrival_s / len(requests)
    played = list(faster(requests, times=times))
    return simulate(played, pool("llama-3.1-8b", "h100-sxm")), rate


def little_of_the_hour() -> tuple[float, float]:
    """Latency and requests in flight of the hour, at the goodput of one H100."""
    report, rate = hour_at_goodput()
    latency_s = float(report.latency_s.mean())
    return latency_s, rate * latency_s


@cache
def scaled_run(name: str, cold_s: float = SLOW_S, *, defaults: bool = False) -> Stored:
    """The burst under one autoscaler, as recorded; or with vLLM's default limits."""
    found = recorded()["scaled"][DEFAULTS if defaults else f"{cold_s:g}"][name]
    ready, starting, waiting, signal = zip(*found["minutes"], strict=True)
    return Stored(
        ready=ready,
        starting=starting,
        waiting=waiting,
        signal=signal,
        missed=tuple(found["missed"]),
        kept=found["kept"],
        ttft_s=found["ttft_s"],
        gpu_h=found["gpu_h"],
        starts=found["starts"],
        spans=tuple(map(tuple, found["spans"])),
    )


def hour_all() -> dict[str, Any]:
    """The Azure hour on one H100: requests and output tokens by minute, and shares."""
    report = simulate(azure_hour(), pool("llama-3.1-8b", "h100-sxm"))
    kept = LEVEL.kept(report)
    return {
        "kept": round(kept.both, 4),
        "ttft_s": round(kept.nearest_ttft_s, 4),
        "tpot_s": round(kept.nearest_tpot_s, 5),
        "goodput_per_s": round(most_of_the_trace(), 2),
    }


def most_of_the_trace(
    level: ServiceLevel = LEVEL,
    one: Pool | None = None,
    between: tuple[float, float] = (1.0, 4.0),
) -> float:
    """Mean rate of the hour, played faster, at which one H100 just keeps the level.

    ``between`` are times the recorded rate: one that keeps it, one that does not.
    """
    from llmserve_lab.workloads import faster

    one, requests = one or pool("llama-3.1-8b", "h100-sxm"), azure_hour()
    mean = len(requests) / requests[-1].arrival_s
    low, high = between
    for _ in range(HALVINGS):
        times = (low + high) / 2
        kept = level.kept(simulate(list(faster(requests, times=times)), one))
        low, high = (times, high) if kept.good else (low, times)
    return low * mean


def kept_of_the_hour(per_s: float, *, replicas: int) -> float:
    """Share in time of the hour, played at a mean rate, on H100s behind one router."""
    from llmserve_lab.workloads import faster

    one, requests = pool("llama-3.1-8b", "h100-sxm"), azure_hour()
    times = per_s * requests[-1].arrival_s / len(requests)
    several = Pool(one.cost, one.policy, replicas=replicas)
    return LEVEL.kept(simulate(list(faster(requests, times=times)), several)).both


def dearer(most: float) -> list[Candidate]:
    """Candidates that cost more dollars an hour than the answer, and at most so many.

    Those that the search ruled out before are not among them.
    """
    found = searched()
    assert found.best is not None
    least = found.best.dollars_per_hour()
    return [
        each
        for each, fate in found.fates.items()
        if fate == "cannot be cheaper" and least < each.dollars_per_hour() <= most
    ]


def searched_all() -> dict[str, Any]:
    """Fates of the candidates by what is ranked first: dollars or GPUs."""
    return {
        name: [
            [each.device, each.tp, each.replicas, each.rows, fate]
            for each, fate in find.search(
                grid(), azure_hour(), SEARCHED, rank=rank
            ).fates.items()
        ]
        for name, rank in RANKS.items()
    }


RANKS = {
    "dollars": find.by_price(),
    "GPUs": find.by_gpus(),
    "dollars with a spare": find.by_price(spare=1),
}
NEAR = 1.02  # times the price of the answer: closer than prices are known


def near_all() -> list[list[Any]]:
    """Candidates that cost hardly more than the answer, run too, and their fates."""
    found = searched()
    assert found.best is not None
    most = NEAR * found.best.dollars_per_hour()
    return [
        [each.device, each.tp, each.replicas, each.rows, fate]
        for each, known in found.fates.items()
        if known == "cannot be cheaper" and each.dollars_per_hour() <= most
        for fate in [find.judged(each, azure_hour(), SEARCHED)]
    ]


@cache
def near() -> dict[Candidate, find.Fate]:
    """Fates of the candidates that cost hardly more than the answer, as recorded."""
    return {Candidate(*row[:4]): row[4] for row in recorded()["near"]}


@cache
def searched(by: str = "dollars") -> find.Found:
    """The search over the Azure hour, as recorded."""
    rows: Sequence[Any] = recorded()["search"][by]
    rank = RANKS[by]
    fates = {Candidate(*row[:4]): row[4] for row in rows}
    good = [each for each, fate in fates.items() if fate in find.GOOD]
    return find.Found(min(good, key=rank), fates)
