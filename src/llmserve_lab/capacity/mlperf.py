"""A measured goodput: Llama-3.1-8B under Poisson arrivals on one H100, and the engine.

MLPerf Inference 5.1, server scenario: requests arrive at random, and 99 in 100 must
keep either latency limit. Its public log gives the rate and the latencies at it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from llmserve_lab.capacity.level import ServiceLevel
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.triangle import ROWS
from llmserve_lab.engine import Chunked, Pool, Report, simulate
from llmserve_lab.page.table import Table
from llmserve_lab.quantization.speed import Bits, served
from llmserve_lab.workloads import Always, Bounded, Lognormal, poisson_requests

PROMISE = ServiceLevel(ttft_s=2.0, tpot_s=0.1, share=0.99)
PROMPT, LONGEST, ANSWER = 778, 2048, 129  # tokens: mean, limit; all answers
SECONDS, HALVINGS = 600.0, 8  # as long as the measured run at least


@dataclass(frozen=True)
class ServedRun:
    """What an open loop shows: its rate, and mean and 99th percentile of latencies."""

    per_s: float
    ttft_s: float
    ttft99_s: float
    tpot_s: float
    tpot99_s: float


# Red Hat, closed division: vLLM 0.10.0, weights in FP8, log of the performance run.
MEASURED = ServedRun(39.56, 0.35933, 1.91117, 0.023113, 0.025129)
ARRIVED = 39.64  # requests a second that the benchmark sent


SETTINGS = Chunked(ROWS)  # of the page; what the measured server had is not known
LARGE = Chunked(8192, max_batch=1024)


def at(per_s: float, settings: Chunked = SETTINGS) -> Report:
    """The engine on such requests at a rate, by default with the page's settings."""
    requests = poisson_requests(
        rate_per_s=per_s,
        prompt=Bounded(law=Lognormal(mean=PROMPT, cv=0.5), high=LONGEST),
        output=Always(ANSWER),
        num_requests=round(per_s * SECONDS),
        seed=1,
    )
    return simulate(requests, Pool(served(Bits("fp8")), settings))


def most(enough: Callable[[Report], bool], settings: Chunked = SETTINGS) -> float:
    """Largest rate that is good enough, found by halving an interval."""
    low, high = 20.0, 60.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(at(middle, settings)) else (low, middle)
    return low


def keeps(report: Report) -> bool:
    """Whether 99 in 100 keep the one limit, and 99 in 100 the other."""
    kept = PROMISE.kept(report)
    return min(kept.ttft, kept.tpot) >= PROMISE.share


def compared() -> dict[str, list[float] | float]:
    """As it is stored: the engine at the measured rate, and its two rates."""
    found = at(ARRIVED)
    shown = (
        ARRIVED,
        found.ttft_s.mean(),
        np.quantile(found.ttft_s, 0.99),
        found.tpot_s.mean(),
        np.quantile(found.tpot_s, 0.99),
    )
    return {
        "same_rate": [float(f"{each:.4g}") for each in shown],
        "goodput_per_s": round(most(keeps), 1),
        "large_goodput_per_s": round(most(keeps, LARGE), 1),
        "same_tpot_per_s": round(
            most(lambda each: float(each.tpot_s.mean()) <= MEASURED.tpot_s), 1
        ),
    }


@cache
def engine() -> ServedRun:
    """The engine at the measured rate, as recorded."""
    return ServedRun(*recorded()["mlperf"]["same_rate"])


def goodput(*, large: bool = False) -> float:
    """Largest rate at which the engine keeps the promise of the benchmark."""
    return float(recorded()["mlperf"]["large_" * large + "goodput_per_s"])


def rate_at_tpot() -> float:
    """Rate at which the engine's mean TPOT is the measured one."""
    return float(recorded()["mlperf"]["same_tpot_per_s"])


def error_at_tpot() -> float:
    """How far the engine's rate is off at the measured TPOT.

    The measured rate bounds the server's goodput from below, so that has no error.
    """
    return rate_at_tpot() / MEASURED.per_s - 1


def table() -> Table:
    """Table of the measured run, the engine, and its error."""
    ours, theirs = engine(), MEASURED
    tpot = f"{1e3 * theirs.tpot_s:.1f} ms"
    tpots_ms = _ms(theirs.tpot_s, ours.tpot_s)
    rows = [
        _bounded("goodput, requests/s", goodput()),
        _bounded("goodput, larger steps", goodput(large=True)),
        _row(f"requests/s at a TPOT of {tpot}", theirs.per_s, rate_at_tpot()),
        _row(f"TPOT at {ARRIVED:.1f} requests/s, ms", *tpots_ms, places=1),
    ]
    caption = (
        "Measured under random arrivals (MLPerf Inference 5.1, vLLM on one H100, "
        "weights in 8 bits), and the engine; TPOT is the mean"
    )
    return Table(caption, ("what", "measured", "engine", "error"), rows)


def _ms(*seconds: float) -> tuple[float, ...]:
    return tuple(1e3 * each for each in seconds)


def _row(name: str, theirs: float, ours: float, *, places: int = 2) -> tuple[str, ...]:
    return name, f"{theirs:.{places}f}", f"{ours:.1f}", off(ours / theirs - 1)


def _bounded(name: str, ours: float) -> tuple[str, ...]:
    return name, f"at least {MEASURED.per_s:.2f}", f"{ours:.1f}", "–"


def off(share: float) -> str:
    """An error in percent, with a digit more where it is below one."""
    return f"{share:+.{int(abs(share) < 0.01)}%}".replace("-", "−")
