"""What a packed or padded prefill costs in time: rows and pairs at measured prices.

A causal kernel skips the future. So of each square that a way computes, the triangle
that the mask allows is paid for, as in every iteration of the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from llmserve_lab.catalog.evidence.servers import VLLM_GRAPH_ROWS
from llmserve_lab.engine import IterationCost, IterationLoad
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen.arguments import batch_of


class RowsAndPairs(NamedTuple):
    """Rows of the linear layers, and pairs of attention, per layer and head."""

    rows: int
    pairs: int


def work(lengths: Sequence[int]) -> Mapping[str, RowsAndPairs]:
    """What each way computes, by its name: rows, and pairs without the future.

    Errors as of :func:`~llmserve_lab.varlen.arguments.batch_of`.
    """
    batch_of(lengths)  # which refuses what is no batch
    sequences: dict[str, Sequence[int]] = {
        "padded": [max(lengths)] * len(lengths),
        "masked": [sum(lengths)],  # one sequence to the kernel
        "varlen": lengths,
    }
    return {
        way: RowsAndPairs(sum(each), _triangles(each))
        for way, each in sequences.items()
    }


def _triangles(lengths: Sequence[int]) -> int:
    return round(float(f.USEFUL_PAIRS.at(batch_of(lengths))))


def arithmetic_s(
    lengths: Sequence[int], cost: IterationCost
) -> dict[str, tuple[float, float]]:
    """Seconds of the linear layers and of attention, by the name of the way.

    Launches and the reading of weights are not in it. Errors as of :func:`work`.
    """
    found = work(lengths).items()
    return {way: (n * cost.row_s, pairs * cost.pair_s) for way, (n, pairs) in found}


def arithmetic_ms(
    lengths: Sequence[int], cost: IterationCost
) -> dict[str, tuple[float, float]]:
    """The same in milliseconds."""
    found = arithmetic_s(lengths, cost).items()
    return {way: (1e3 * a, 1e3 * b) for way, (a, b) in found}


def total_s(lengths: Sequence[int], cost: IterationCost) -> dict[str, float]:
    """Seconds of all arithmetic, by the name of the way."""
    return {way: sum(parts) for way, parts in arithmetic_s(lengths, cost).items()}


def one_pass_s(lengths: Sequence[int], cost: IterationCost) -> float:
    """Seconds of one varlen pass with all that an iteration takes."""
    load = IterationLoad.of(chunk=0)
    for length in lengths:
        load = load.plus(IterationLoad.of(chunk=length))
    return cost.seconds(load)


def recorded_s(length: int, cost: IterationCost) -> float:
    """Seconds of a prompt alone where launches of few rows are recorded and replayed.

    Then a pass of up to so many rows launches as cheaply as one without a prompt.
    """
    saved_s = cost.prompt_s if length <= VLLM_GRAPH_ROWS.value else 0.0
    return one_pass_s([length], cost) - saved_s
