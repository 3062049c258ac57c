"""How the scores of the page bear a second look: other rows, rows refused, bands."""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.catalog.evidence import serving
from llmserve_lab.how_wrong.folds import constants_without
from llmserve_lab.how_wrong.record import row_errors
from llmserve_lab.validation import Band, Predictor, Setting, band, dense_rows, errors
from llmserve_lab.validation.constants import record as validated
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.rows import refused_rows


def same_rows(kind: Kind = "tpot") -> tuple[float, float]:
    """Least and most that the book's mean error can be on as many rows as the tool's.

    Which rows the tool does not answer is not stored: they may be the book's best rows,
    or its worst.
    """
    size = np.sort(np.abs(row_errors(kind, "model")))
    kept = round(float(serving.TOOL_ROWS))
    return float(size[:kept].mean()), float(size[-kept:].mean())


@cache
def refused() -> tuple[int, float, float]:
    """Rows refused, their mean TPOT error, and that of all rows if they were kept."""
    own = Predictor(refused_rows())
    reached = constants_without("model", own.rows[0].model)
    size = np.abs(errors(own.predict(reached), own.measured, "tpot"))
    every = np.concatenate([np.abs(row_errors("tpot", "model")), size])
    return len(size), float(size.mean()), float(every.mean())


@cache
def covered_here() -> float:
    """Share of rows inside the band that they get in use, with their model left out.

    Every other row counts, those of the same engine and GPU too.
    """
    error = row_errors("tpot", "model")
    found = [band("tpot", Setting.of(row)) for row in dense_rows()]
    return float(
        np.mean(
            [
                isinstance(each, Band) and each.low <= own <= each.high
                for each, own in zip(found, error, strict=True)
            ]
        )
    )


def covered(by: str, kind: Kind, *, plain: bool = False) -> float:
    """Share of all rows inside their band, whatever name of a label is left out."""
    found = validated()["coverage"]["tried"][by][kind].values()
    inside = sum(each[0] * each[1 if plain else 3] for each in found)
    return float(inside / sum(each[0] for each in found))
