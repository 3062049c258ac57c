"""One thing switched off: what others measured, and what the twin says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

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
from llmserve_lab.deepseek.evaluation.predictions import signed
from llmserve_lab.deepseek.evaluation.published_runs import batch_of, rate_as_run
from llmserve_lab.deepseek.model.assumptions import Choices

if TYPE_CHECKING:
    from llmserve_lab.page.table import Table

TWICE_THE_MEAN = 0.5  # assumed before rebalancing: nobody published the balancedness


def overlap_gain(record: Deployment, choices: Choices, **size: float) -> float:
    """Throughput with two batches in flight over that with one, as ``record`` was run.

    ``size`` is a ``batch`` and, if not the published one, a ``context`` in decode, and
    as many ``rows`` in prefill.
    """
    both, one = (
        rate_as_run(record, replace(choices, overlap=overlap), **size)
        for overlap in ("halves", "none")
    )
    return both / one


def rebalancing_gain(phase: str, choices: Choices) -> float:
    """Throughput of a published run over that with a busiest GPU of twice the mean."""
    uneven = replace(choices, balancedness=TWICE_THE_MEAN, n_redundant=0)
    record = {"prefill": PREFILL_RATES[-1], "decode": SGLANG_DECODE}[phase]
    return rate_as_run(record, choices) / rate_as_run(record, uneven)


def ablations(choices: Choices) -> Iterator[tuple[str, float, tuple[float, ...]]]:
    """What was changed, the gain predicted, and the gain or the range measured."""
    for batch, measured in OVERLAP_GAINS.items():
        gain = overlap_gain(SGLANG_DECODE, choices, batch=batch)
        yield f"two batches in flight, {batch} requests", gain, (float(measured),)
    drafted = batch_of(SGLANG_DRAFTED)
    gain = overlap_gain(SGLANG_DRAFTED, choices, batch=drafted)
    what = f"two batches in flight, {drafted:.0f} requests, drafts simulated"
    yield what, gain, (float(DRAFTED_OVERLAP_GAIN),)
    rows = float(PREFILL_OVERLAP_ROWS)
    gain = overlap_gain(PREFILL_RATES[-1], choices, rows=rows)
    yield "two batches in flight, prefill", gain, (*map(float, PREFILL_OVERLAP_GAINS),)
    for phase, measured in REBALANCING_GAINS.items():
        gain = rebalancing_gain(phase, choices)
        yield f"experts rebalanced, {phase}", gain, (float(measured),)


def ablations_table(choices: Choices) -> Table:
    """Table of published gains beside the twin's."""
    from llmserve_lab.page.table import Table

    rows = [
        (what, signed(gain - 1), " to ".join(signed(each - 1) for each in measured))
        for what, gain, measured in ablations(choices)
    ]
    return Table("Ablations", ("change", "predicted", "measured"), rows)
