"""Iterations with a chunk, timed on one H100, and the engine's own beside them.

What was timed replays recorded launches, so the engine's iterations do, too; see
:mod:`llmserve_lab.catalog.evidence.one_h100`.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.continuous_batching.machine import (
    GRAPH_ROWS,
    LONG,
    TARGET_S,
    replayed,
)
from llmserve_lab.formula.text import off_by
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import device
from llmserve_lab.validation.one_gpu import load_of

# A chunk, and the tokens of its prompt before it: what the page's table shows.
SHOWN = (
    (GRAPH_ROWS, 0),
    (GRAPH_ROWS, 32_768),
    (GRAPH_ROWS // 2, 97_792),
    (GRAPH_ROWS, 97_792),
    (2048, LONG - 2048),
    (8192, LONG - 8192),
)


@dataclass(frozen=True, kw_only=True)
class TimedChunk:
    """A chunk beside decodes; means of the runs that were timed, and the engine's."""

    decodes: int
    context: int
    chunk: int
    prefix: int
    measured_s: float
    engine_s: float

    @property
    def error(self) -> float:
        """The engine's time over the measured one, less one."""
        return self.engine_s / self.measured_s - 1


def timed_chunks() -> tuple[TimedChunk, ...]:
    """Every chunk that was timed, one by its size, its prefix and its decodes."""
    engine = replayed()
    return tuple(
        TimedChunk(
            **size._asdict(),
            measured_s=measured_s,
            engine_s=engine.seconds(load_of(size)),
        )
        for size, measured_s in one_h100.mean_seconds().items()
        if size.chunk
    )


def shown() -> list[TimedChunk]:
    """Those of the page's table, beside the fewer decodes that were timed."""
    known = {(e.chunk, e.prefix): e for e in timed_chunks() if 0 < e.decodes < 100}
    return [known[each] for each in SHOWN]


def at_the_end() -> TimedChunk:
    """A chunk of as many rows as are recorded, where the long prompt ends."""
    (found,) = (
        each
        for each in shown()
        if each.chunk == GRAPH_ROWS and each.prefix + each.chunk == LONG
    )
    return found


def in_one_piece() -> TimedChunk:
    """The whole long prompt as one iteration, and nothing beside it."""
    (found,) = (each for each in timed_chunks() if each.chunk == LONG)
    return found


def small_share() -> float:
    """Of the time of an iteration with 512 rows at the end, that of one with 256."""
    small = next(e for e in shown() if e.chunk == GRAPH_ROWS // 2)
    return small.measured_s / at_the_end().measured_s


def correctable_s(rows: int) -> float:
    """The longest gap under 512 rows that so many rows, from 256 on, bring to target.

    Between the two the time is taken to grow in a line.

    Raises:
        ValueError: the rows are not between those that were timed.
    """
    half = GRAPH_ROWS // 2
    if not half <= rows <= GRAPH_ROWS:
        raise ValueError(f"rows must be from {half} to {GRAPH_ROWS}, got {rows}")
    of_time = small_share() + (1 - small_share()) * (rows - half) / half
    return TARGET_S / of_time


def attention_share() -> float:
    """Of the datasheet's FLOP/s, what attention of the longest prompt reached."""
    runs = [each for each in one_h100.prefill_attention() if each.code == "cuDNN"]
    longest = max(runs, key=lambda each: each.tokens)
    return longest.flops_per_s / float(device().peak("bf16"))


def chunk_times_table() -> Table:
    """Table of the time of an iteration with a chunk, measured and in the engine."""
    rows = [
        (
            f"{each.chunk:,}",
            f"{each.prefix:,}",
            f"{1e3 * each.measured_s:.0f} ms",
            f"{1e3 * each.engine_s:.0f} ms",
            off_by(each.error),
        )
        for each in shown()
    ]
    columns = ("chunk (rows)", "after (tokens)", "measured", "engine", "engine off by")
    note = f"{one_h100.as_note()}; means of two runs."
    beside = shown()[0]
    caption = (
        f"An iteration with a chunk beside {beside.decodes} decodes of "
        f"{beside.context:,} tokens: one H100, measured"
    )
    return Table(caption, columns, rows, (note,))
