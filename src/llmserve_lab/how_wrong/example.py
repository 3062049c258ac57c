"""The chapter's running example: one measured server, and two calculators beside it."""

from __future__ import annotations

from functools import cache

from llmserve_lab.validation import (
    DATASHEET,
    MeasuredRow,
    Predictor,
    ServingConstants,
    achieved,
    dense_rows,
)

MODEL, SYSTEM, TP, LENGTH, CLIENTS = "llama-3-70b", "h100-sxm", 4, 1024, 64
BY_HAND = (4, 16, 64)  # clients of the rows that are worked out by hand


@cache
def rows() -> tuple[MeasuredRow, ...]:
    """Llama-3.1-70B on four H100, prompts and answers of a thousand tokens or so."""
    found = [row for row in dense_rows() if _is_mine(row)]
    return tuple(sorted(found, key=lambda row: row.clients))


def _is_mine(row: MeasuredRow) -> bool:
    asked = (MODEL, SYSTEM, TP, LENGTH, LENGTH)
    has = (row.model, row.system, row.tp, row.prompt_len, row.output_len)
    return has == asked


@cache
def predictor() -> Predictor:
    """The example's rows, counted by the engine."""
    return Predictor(rows())


def tpot_ms(reached: ServingConstants) -> dict[int, float]:
    """Predicted milliseconds per output token, by clients."""
    found = predictor().predict(reached).tpot
    return {
        row.clients: 1e3 * float(each) for row, each in zip(rows(), found, strict=True)
    }


def measured_ms() -> dict[int, float]:
    """Measured milliseconds per output token, by clients."""
    return {row.clients: 1e3 * row.tpot_s for row in rows()}


def tokens_per_s() -> tuple[float, float, float]:
    """Output tokens per second: by the datasheet, by the book's machine, measured.

    Each client always has one request under way, so that the rate is clients × tokens
    of a mean answer / end-to-end time.
    """
    place = next(i for i, row in enumerate(rows()) if row.clients == CLIENTS)
    tokens = CLIENTS * predictor().exposures[place].output_len
    times = (predictor().predict(DATASHEET), predictor().predict(achieved()))
    sheet, book = (tokens / float(each.e2e[place]) for each in times)
    return sheet, book, tokens / float(predictor().measured.e2e[place])
