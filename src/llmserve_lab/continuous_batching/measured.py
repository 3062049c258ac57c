"""Do a fixed cost and a cost per row explain what others measured with three chunks?

If an iteration takes a fixed time and a time for each row, the longest gap is a line in
the chunk, and the time of an output token a line in one over the chunk. The outer two
of three measurements fix each line; the one between them tests it, and so does the
engine, with the requests of that benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from llmserve_lab.catalog.evidence.servers import CHUNK_SIZES, ChunkSize
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


@dataclass(frozen=True)
class ChunkBeside:
    """Longest gap and output of one chunk as found, beside what was measured."""

    measured: ChunkSize
    gap_s: float
    output_per_s: float

    @property
    def gap_error(self) -> float:
        """By which share the gap found is too long."""
        return self.gap_s / float(self.measured.longest_gap_s) - 1

    @property
    def output_error(self) -> float:
        """By which share the output found is too high."""
        return self.output_per_s / float(self.measured.output_per_s) - 1


def on_lines() -> list[ChunkBeside]:
    """What the two lines say of each chunk."""
    return [
        ChunkBeside(
            record,
            predicted_gap_s(record.chunk_tokens),
            predicted_rate_per_s(record.chunk_tokens),
        )
        for record in CHUNK_SIZES
    ]


def in_engine() -> list[ChunkBeside]:
    """What the engine comes to with each chunk."""
    runs = ((record, replayed(record.chunk_tokens)) for record in CHUNK_SIZES)
    return [
        ChunkBeside(record, run.gaps.longest_s, run.throughput_tokens_per_s)
        for record, run in runs
    ]


def trade() -> Table:
    """Table of gap and rate for each chunk: measured, on a line, and the error."""
    source = CHUNK_SIZES[0].longest_gap_s.source
    note = f"Measured: {source}. Outer rows fix the lines and cannot err."
    caption = "Three chunks, measured and predicted"
    return _compared(caption, "predicted", on_lines(), note)


def replay() -> Table:
    """Table of the same for the engine: measured, simulated, and the error."""
    note = (
        f"The benchmark's {len(PROMPTS)} requests: prompts of {min(PROMPTS)} to "
        f"{max(PROMPTS)} tokens, answers of {ANSWER}; {SLOTS} decode, one prefills."
    )
    return _compared("The same chunks in the engine", "simulated", in_engine(), note)


def replay_low() -> float:
    """By which share the engine's output is too low, on average over the chunks."""
    return sum(-each.output_error for each in in_engine()) / len(CHUNK_SIZES)


def _compared(caption: str, how: str, found: Sequence[ChunkBeside], note: str) -> Table:
    """Gap and rate of each chunk as measured, as found, and the error between them."""
    from llmserve_lab.page.table import Table

    rows = [
        (
            str(each.measured.chunk_tokens),
            si(float(each.measured.longest_gap_s), "s", 4),
            si(each.gap_s, "s", 4),
            _off(each.gap_error),
            si(float(each.measured.output_per_s), "token/s", 4),
            si(each.output_per_s, "token/s", 4),
            _off(each.output_error),
        )
        for each in found
    ]
    columns = ("chunk", "longest gap", how, "error", "output", how, "error")
    return Table(caption, columns, rows, notes=(note,))


def _off(error: float) -> str:
    """By how much a prediction is off; an end of the line cannot be."""
    return f"{100 * error:+.1f} %" if abs(error) > 1e-9 else "–"
