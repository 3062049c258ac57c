"""What a packed or padded prefill costs in time: rows and pairs at measured prices."""

from __future__ import annotations

from collections.abc import Sequence

from llmserve_lab.engine import IterationCost
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen.arguments import batch_of

WAYS = {
    "padded": (f.PADDED_ROWS, f.PADDED_PAIRS),
    "masked": (f.PACKED_ROWS, f.MASKED_PAIRS),
    "varlen": (f.PACKED_ROWS, f.VARLEN_PAIRS),
}


def arithmetic_s(
    lengths: Sequence[int], cost: IterationCost
) -> dict[str, tuple[float, float]]:
    """Seconds of the linear layers and of attention, by the name of the way.

    Errors as of :func:`~llmserve_lab.varlen.arguments.batch_of`. Launches and the
    reading of weights are not in it.
    """
    batch = batch_of(lengths)
    return {
        way: (float(rows.at(batch)) * cost.row_s, float(pairs.at(batch)) * cost.pair_s)
        for way, (rows, pairs) in WAYS.items()
    }


def arithmetic_ms(
    lengths: Sequence[int], cost: IterationCost
) -> dict[str, tuple[float, float]]:
    """The same in milliseconds."""
    found = arithmetic_s(lengths, cost).items()
    return {way: (1e3 * a, 1e3 * b) for way, (a, b) in found}


def total_s(lengths: Sequence[int], cost: IterationCost) -> dict[str, float]:
    """Seconds of all arithmetic, by the name of the way."""
    return {way: sum(parts) for way, parts in arithmetic_s(lengths, cost).items()}


def one_by_one_s(lengths: Sequence[int], cost: IterationCost) -> float:
    """Seconds of a pass for each prompt: each reads the weights, or computes longer."""
    found = 0.0
    for length in lengths:
        linear, attention = arithmetic_s([length], cost)["varlen"]
        found += max(linear, cost.weights_s) + attention
    return found
