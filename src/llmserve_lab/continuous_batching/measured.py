"""Do a fixed cost and a cost per row explain what others measured with three chunks?

If an iteration takes a fixed time and a time for each row, the longest gap is a line in
the chunk, and the time of an output token a line in one over the chunk. The outer two
of three measurements fix each line; the one between them tests it, and so does the
engine, with the requests of that benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from llmserve_lab.catalog.evidence.servers import CHUNK_SIZES
from llmserve_lab.engine import (
    Chunked,
    IterationCost,
    Pool,
    Report,
    Request,
    simulate,
)
from llmserve_lab.formula.text import si

if TYPE_CHECKING:
    from llmserve_lab.page.table import Table

# The trace that the benchmark stores beside its results, in skyzh/tiny-llm on GitHub.
PROMPTS, ANSWER = (496, 376, 510, 270, 181, 127, 342, 164), 32
SLOTS = 4  # that decode, while one more prompt is read
BLOCKS = 1000  # of cache: more than these requests need


def predicted_gap_s(chunk: float) -> float:
    """Longest gap at ``chunk``, on the line through the smallest and the largest."""
    first, last = CHUNK_SIZES[0], CHUNK_SIZES[-1]
    sizes = [first.chunk_tokens, last.chunk_tokens]
    gaps = [float(first.longest_gap_s), float(last.longest_gap_s)]
    return float(np.interp(chunk, sizes, gaps))


def predicted_rate_per_s(chunk: float) -> float:
    """Output tokens per second: the time of a token is linear in one over the chunk."""
    ends = (CHUNK_SIZES[-1], CHUNK_SIZES[0])
    inverse = [1 / end.chunk_tokens for end in ends]
    token_s = [1 / float(end.output_per_s) for end in ends]
    return float(1 / np.interp(1 / chunk, inverse, token_s))


def row_s() -> float:
    """What a row adds to the gap: the slope of that line."""
    first, last = CHUNK_SIZES[0], CHUNK_SIZES[-1]
    rise = float(last.longest_gap_s) - float(first.longest_gap_s)
    return rise / (last.chunk_tokens - first.chunk_tokens)


def fixed_gap_s() -> float:
    """What is left of the gap without a single row: the line, continued to no chunk."""
    first = CHUNK_SIZES[0]
    return float(first.longest_gap_s) - row_s() * first.chunk_tokens


@cache
def replayed(chunk: int) -> Report:
    """The engine with this fixed time and time of a row serves the same requests."""
    cost = IterationCost(row_s=row_s(), overhead_s=fixed_gap_s())
    requests = [
        Request(arrival_s=0.0, prompt_len=size, output_len=ANSWER, id=number)
        for number, size in enumerate(PROMPTS)
    ]
    policy = Chunked(chunk + SLOTS, max_batch=SLOTS + 1)
    return simulate(requests, Pool(cost, policy, kv_blocks=BLOCKS))


def trade() -> Table:
    """Table of gap and rate for each chunk: measured, on a line, and the error."""
    sizes = [record.chunk_tokens for record in CHUNK_SIZES]
    lines = [(predicted_gap_s(c), predicted_rate_per_s(c)) for c in sizes]
    source = CHUNK_SIZES[0].longest_gap_s.source
    note = f"Measured: {source}. Outer rows fix the lines and cannot err."
    return _compared("Three chunks, measured and predicted", "predicted", lines, note)


def replay() -> Table:
    """Table of the same for the engine: measured, simulated, and the error."""
    runs = [replayed(record.chunk_tokens) for record in CHUNK_SIZES]
    found = [(run.gaps.longest_s, run.throughput_tokens_per_s) for run in runs]
    note = (
        f"The benchmark's {len(PROMPTS)} requests: prompts of {min(PROMPTS)} to "
        f"{max(PROMPTS)} tokens, answers of {ANSWER}; {SLOTS} decode, one prefills."
    )
    return _compared("The same chunks in the engine", "simulated", found, note)


def replay_low() -> float:
    """By which share the engine's output is too low, on average over the chunks."""
    short = [
        1
        - replayed(record.chunk_tokens).throughput_tokens_per_s
        / float(record.output_per_s)
        for record in CHUNK_SIZES
    ]
    return sum(short) / len(short)


def _compared(
    caption: str, how: str, found: Sequence[tuple[float, float]], note: str
) -> Table:
    """Gap and rate of each chunk as measured, as found, and the error between them."""
    from llmserve_lab.page.table import Table

    rows = [
        (
            str(record.chunk_tokens),
            *_beside(float(record.longest_gap_s), gap_s, "s"),
            *_beside(float(record.output_per_s), per_s, "token/s"),
        )
        for record, (gap_s, per_s) in zip(CHUNK_SIZES, found, strict=True)
    ]
    columns = ("chunk", "longest gap", how, "error", "output", how, "error")
    return Table(caption, columns, rows, notes=(note,))


def _beside(measured: float, predicted: float, unit: str) -> tuple[str, str, str]:
    """Both, and by how much the prediction is off; an end of the line cannot be."""
    error = predicted / measured - 1
    off = f"{100 * error:+.1f} %" if abs(error) > 1e-9 else "–"
    return si(measured, unit, 4), si(predicted, unit, 4), off
