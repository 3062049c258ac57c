"""Ablations: one thing switched off, as others measured it and as the twin says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from llmserve_lab.catalog.evidence.deployments import (
    DRAFTED_OVERLAP_GAIN,
    OVERLAP_GAINS,
    PREFILL_OVERLAP_GAINS,
    PREFILL_OVERLAP_ROWS,
    PREFILL_RATES,
    REBALANCING_GAINS,
    SGLANG_DECODE,
    SGLANG_DRAFTED,
    Deployment,
)
from llmserve_lab.deepseek.evaluation.published_runs import batch_of, rate_as_run
from llmserve_lab.deepseek.model.assumptions import Assumptions, Overlap

TWICE_THE_MEAN = 0.5  # assumed before rebalancing: no balancedness was published
LEAST_BALANCE = 0.02
REBALANCED = {"prefill": PREFILL_RATES[-1], "decode": SGLANG_DECODE}


@dataclass(frozen=True)
class Ablation:
    """A change, the throughput with it over that without, predicted and measured.

    ``measured`` has one number, or both ends of a range.
    """

    change: str
    predicted: float
    measured: tuple[float, ...]


def overlap_gain(
    record: Deployment,
    assumed: Assumptions,
    *,
    overlap: Overlap = "halves",
    **size: float,
) -> float:
    """Gain of two-batch overlap: throughput with it over that without, run as run.

    ``size`` is a ``batch`` and, if not the published one, a ``context`` in decode, and
    as many ``rows`` in prefill.
    """
    both, one = (
        rate_as_run(record, replace(assumed, overlap=way), **size)
        for way in (overlap, "none")
    )
    return both / one


def rebalancing_gain(
    phase: str, assumed: Assumptions, *, before: float = TWICE_THE_MEAN
) -> float:
    """Throughput of a published run over that at a balancedness of ``before``."""
    uneven = replace(assumed, balancedness=before, n_redundant=0)
    record = REBALANCED[phase]
    return rate_as_run(record, assumed) / rate_as_run(record, uneven)


def balance_before(phase: str, assumed: Assumptions) -> float:
    """Balancedness before rebalancing at which the twin gains what was measured."""
    from llmserve_lab.extras import optimize

    measured = float(REBALANCING_GAINS[phase])

    def off(before: float) -> float:
        return rebalancing_gain(phase, assumed, before=before) - measured

    return float(optimize.brentq(off, LEAST_BALANCE, assumed.balancedness))


def overlap_ablations(assumed: Assumptions) -> Iterator[Ablation]:
    """Two batches in flight against one: four published gains."""
    for batch, measured in OVERLAP_GAINS.items():
        gain = overlap_gain(SGLANG_DECODE, assumed, batch=batch)
        yield Ablation(
            f"two batches in flight, {batch} requests", gain, (float(measured),)
        )
    drafted = batch_of(SGLANG_DRAFTED)
    gain = overlap_gain(SGLANG_DRAFTED, assumed, batch=drafted)
    what = f"two batches in flight, {drafted:.0f} requests, drafts simulated"
    yield Ablation(what, gain, (float(DRAFTED_OVERLAP_GAIN),))
    rows = float(PREFILL_OVERLAP_ROWS)
    gain = overlap_gain(PREFILL_RATES[-1], assumed, rows=rows)
    both_ends = (*map(float, PREFILL_OVERLAP_GAINS),)
    yield Ablation("two batches in flight, prefill", gain, both_ends)


def ablations(assumed: Assumptions) -> tuple[Ablation, ...]:
    """What was changed, the gain predicted, and the gain or the range measured."""
    rebalanced = (
        Ablation(
            f"experts rebalanced, {phase}",
            rebalancing_gain(phase, assumed),
            (float(measured),),
        )
        for phase, measured in REBALANCING_GAINS.items()
    )
    return (*overlap_ablations(assumed), *rebalanced)
