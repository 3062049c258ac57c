"""One thing switched off: what others measured, and what the twin says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmserve_lab.catalog.measurements import (
    OVERLAP_GAINS,
    PREFILL_RATES,
    REBALANCING_GAINS,
    SGLANG_DECODE,
)
from llmserve_lab.deepseek.choices import Choices
from llmserve_lab.deepseek.measured import (
    BEFORE_JUNE,
    decode_point,
    prefill_point,
    signed,
)
from llmserve_lab.deepseek.setup import Setup, setup_of
from llmserve_lab.deepseek.twin import Twin

if TYPE_CHECKING:
    from llmserve_lab.book.table import Table

GAIN_CONTEXT = float(SGLANG_DECODE.context)
TWICE_THE_MEAN = 0.5  # assumed before rebalancing: nobody published the balancedness


def overlap_gain(place: Setup, batch: int, context: float, choices: Choices) -> float:
    """Throughput with two batches in flight over that with one, in May 2025."""
    both, one = (
        Twin(setup=place, choices=replace(choices, **BEFORE_JUNE, overlap=overlap))
        for overlap in ("halves", "none")
    )
    size = {"batch": batch, "context": context}
    return float(one.step_s(**size) / both.step_s(**size))


def rebalancing_gain(phase: str, choices: Choices) -> float:
    """Throughput of a published run over that with a busiest GPU of twice the mean."""
    uneven = replace(choices, balancedness=TWICE_THE_MEAN, n_redundant=0)
    if phase == "prefill":
        record = PREFILL_RATES[-1]
        return prefill_point(record, choices)[1] / prefill_point(record, uneven)[1]
    return (
        decode_point(SGLANG_DECODE, choices)[1] / decode_point(SGLANG_DECODE, uneven)[1]
    )


def ablations_table(choices: Choices) -> Table:
    """Table of published gains beside the twin's."""
    from llmserve_lab.book.table import Table

    place = setup_of(SGLANG_DECODE)
    rows = []
    for batch, measured in OVERLAP_GAINS.items():
        gain = overlap_gain(place, batch, GAIN_CONTEXT, choices)
        what = f"two batches in flight, {batch} requests a GPU"
        rows.append((what, signed(gain - 1), signed(float(measured) - 1)))
    for phase, measured in REBALANCING_GAINS.items():
        gain = rebalancing_gain(phase, choices)
        what = f"experts rebalanced, {phase}"
        rows.append((what, signed(gain - 1), signed(float(measured) - 1)))
    return Table("Ablations", ("change", "predicted", "measured"), rows)
