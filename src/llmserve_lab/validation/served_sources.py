"""Where runs of served mixtures are from, and the error on what is new in both ways.

The next run that the book is asked about will be of a model and from a source that no
constant knows. So a model of a source is left out with all of this model and, but for
InferenceX's, without which few runs remain, with all of this source; and the mean of
such errors counts each model of each source alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.validation.experts import ExpertRow
from llmserve_lab.validation.extra_fit import C, ExtraFit, P
from llmserve_lab.validation.fourth_rows import LoopRow
from llmserve_lab.validation.prediction import Predictor, errors
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.third_rows import COOKBOOK, INFERENCEX, CookbookRow

__all__ = ["COOKBOOK", "cell_of", "new_to_both", "shape_names", "source_of"]
PROVIDER, MAKER = "cloud provider", "NVIDIA"
# InferenceX's answers; with the first trial's runs of other lengths its maker of GPUs
# tried its own predictor.
ANSWERS = (1024, 8192)


def _source(row: MeasuredRow) -> str:
    if isinstance(row, LoopRow):
        return PROVIDER
    if isinstance(row, CookbookRow):
        return COOKBOOK
    own = isinstance(row, ExpertRow) and row.output_len not in ANSWERS
    return MAKER if own else INFERENCEX


def source_of(predictor: Predictor) -> np.ndarray:
    """Who ran the rows' servers, [rows]."""
    return np.array([_source(row) for row in predictor.rows])


def shape_names(predictor: Predictor) -> np.ndarray:
    """Names of the models, [rows]; those of one shape have the first one's.

    Kimi-K2.6 is K2.5 in shape, and is printed with the same figures.
    """
    names: list[str] = []
    firsts: list[tuple[Any, str]] = []
    known: dict[str, str] = {}
    for row in predictor.rows:
        if row.model not in known:
            alike = (name for shape, name in firsts if shape == row.shape)
            known[row.model] = next(alike, row.model)
            firsts.append((row.shape, known[row.model]))
        names.append(known[row.model])
    return np.array(names)


def cell_of(predictor: Predictor) -> np.ndarray:
    """Model and source together, [rows]."""
    pairs = zip(shape_names(predictor), source_of(predictor), strict=True)
    return np.array([f"{model}, {source}" for model, source in pairs])


def new_to_both(
    predictor: P, fit: ExtraFit[P, C], apart: np.ndarray
) -> dict[str, dict[str, float]]:
    """Runs, mean error and bias of TPOT by model and source, both left out.

    Rows that nothing is fitted to, ``apart`` [rows], are not scored.
    """
    model, source = shape_names(predictor), source_of(predictor)
    cell, found = cell_of(predictor), dict[str, dict[str, float]]()
    for name in np.unique(cell[~apart]):
        own = (cell == name) & ~apart
        (left,), (where,) = set(model[own]), set(source[own])
        away = model == left
        if where != INFERENCEX:
            away |= source == where
        tested = predictor.subset(own)
        times = fit.made(tested, fit.fit(predictor.subset(~away)))
        error = errors(times, tested.measured, "tpot")
        found[str(name)] = {
            "n": int(own.sum()),
            "mean": float(np.abs(error).mean()),
            "bias": float(error.mean()),
        }
    return found
