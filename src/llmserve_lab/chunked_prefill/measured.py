"""Do a fixed cost and a cost per row explain what others measured with three chunks?

If an iteration takes a fixed time and a time for each row, the longest gap is a line in
the chunk, and the time of an output token a line in one over the chunk. The outer two
of three measurements fix each line; the one between them tests it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from llmserve_lab.book.display import si
from llmserve_lab.catalog.servers import CHUNK_SIZES

if TYPE_CHECKING:
    from llmserve_lab.book.table import Table


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


def fixed_gap_s() -> float:
    """What is left of the gap without a single row: the line, continued to no chunk."""
    first, last = CHUNK_SIZES[0], CHUNK_SIZES[-1]
    rise = float(last.longest_gap_s) - float(first.longest_gap_s)
    slope = rise / (last.chunk_tokens - first.chunk_tokens)
    return float(first.longest_gap_s) - slope * first.chunk_tokens


def trade() -> Table:
    """Table of gap and rate for each chunk: measured, predicted, and the error."""
    from llmserve_lab.book.table import Table

    rows = [
        (
            str(record.chunk_tokens),
            *_beside(
                float(record.longest_gap_s), predicted_gap_s(record.chunk_tokens), "s"
            ),
            *_beside(
                float(record.output_per_s),
                predicted_rate_per_s(record.chunk_tokens),
                "token/s",
            ),
        )
        for record in CHUNK_SIZES
    ]
    gap_columns = ("longest gap", "predicted", "error")
    rate_columns = ("output", "predicted", "error")
    source = CHUNK_SIZES[0].longest_gap_s.source
    notes = (f"Measured: {source}. Outer rows fix the lines and cannot err.",)
    columns = ("chunk", *gap_columns, *rate_columns)
    return Table("Three chunks, measured and predicted", columns, rows, notes=notes)


def _beside(measured: float, predicted: float, unit: str) -> tuple[str, str, str]:
    """Both, and by how much the prediction is off; an end of the line cannot be."""
    error = predicted / measured - 1
    off = f"{100 * error:+.1f} %" if abs(error) > 1e-9 else "–"
    return si(measured, unit, 4), si(predicted, unit, 4), off
