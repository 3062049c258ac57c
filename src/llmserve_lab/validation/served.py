"""What the book says of a served mixture of experts: its two constants, and its errors.

The form is :mod:`.kernel_form`, its constants are fitted to all 1,220 runs, which are
seen by now. The form was chosen with 980 of them in view. That each run counts as much
as another, as in the fit to dense models, was chosen with all in view: with each model
counting as much as another, as in the trials, four models that are known by nine runs
or eight, of servers set by default, draw the constants to where all others are missed.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.validation.blind import blind_rows
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import SCORED
from llmserve_lab.validation.extra_fit import ExtraFit, row_weights
from llmserve_lab.validation.kernel_fit import EACH, START, made
from llmserve_lab.validation.kernel_form import KernelConstants, KernelPredictor
from llmserve_lab.validation.prediction import Kind, Times, errors
from llmserve_lab.validation.scores import score_of

SERVED = ExtraFit(START, made, row_weights)
STATUS = "seen: the form was chosen with 980 of the 1,220 runs in view"
PART = "served mixtures"  # of the record


@cache
def all_runs() -> KernelPredictor:
    """The runs of the first three trials, counted by the engine."""
    return KernelPredictor(blind_rows())


def served_constants() -> KernelConstants:
    """The two constants that the book predicts served mixtures with, as recorded."""
    return KernelConstants(**record()[PART]["constants"][EACH])


def served_errors(kind: Kind) -> list[float]:
    """Errors of all runs, each by constants fitted without its model, as recorded."""
    found: list[float] = record()[PART]["errors"][kind]
    return found


def shape_names(predictor: KernelPredictor) -> np.ndarray:
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


def without_its_model(predictor: KernelPredictor) -> Times:
    """Times of each row by constants fitted to the rows of other shapes."""
    label = shape_names(predictor)
    return SERVED.left_out(predictor, label, SERVED.without(predictor, label))


def recorded() -> dict[str, Any]:
    """All that the record has of them."""
    predictor = all_runs()
    label = shape_names(predictor)
    sets = {EACH: SERVED.fit(predictor), **SERVED.without(predictor, label)}
    times = SERVED.left_out(predictor, label, sets)
    error = {kind: errors(times, predictor.measured, kind) for kind in SCORED}
    return {
        "status": STATUS,
        "constants": {name: asdict(each) for name, each in sets.items()},
        "in sample": _scores(predictor, made(predictor, sets[EACH])),
        "model left out": _scores(predictor, times),
        "errors": {kind: each.tolist() for kind, each in error.items()},
    }


def _scores(predictor: KernelPredictor, times: Times) -> dict[str, Any]:
    """Scores of all rows and by the name of the model, of each kind."""
    server, label = predictor.label("server"), shape_names(predictor)
    found: dict[str, Any] = {}
    for name in (EACH, *map(str, np.unique(label))):
        own = (label == name) | (name == EACH)
        found[name] = {
            kind: score_of(
                errors(times, predictor.measured, kind)[own], server[own]
            ).plain()
            for kind in SCORED
        }
    return found
