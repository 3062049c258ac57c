"""What the book says of a served mixture of experts: its constants, and its errors.

The form is :mod:`.served_form`, fitted to all 1,324 runs of four blind trials, which
are seen by now: it was chosen with them in view. A run counts by where it is from. Of
the runs of one model from one source, each weighs as the root of their number says, so
that hundreds from InferenceX, whose servers are tuned, do not outweigh all others; with
each model and source alike, those that are known by few runs draw the constants to
where all others are missed.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.validation.blind import blind_rows
from llmserve_lab.validation.constants import achieved, record
from llmserve_lab.validation.experts import SCORED
from llmserve_lab.validation.extra_fit import ExtraFit
from llmserve_lab.validation.fourth_rows import fourth_runs
from llmserve_lab.validation.kernel_fit import EACH
from llmserve_lab.validation.launch_fit import REPEATED
from llmserve_lab.validation.prediction import Kind, Times, errors
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.scores import score_of
from llmserve_lab.validation.served_form import ServedConstants, ServedPredictor
from llmserve_lab.validation.served_sources import (
    COOKBOOK,
    cell_of,
    new_to_both,
    shape_names,
    source_of,
)
from llmserve_lab.validation.unit_work import Floats

START = ServedConstants(
    kernel_s=6e-6,
    products=4.0,
    launched=10.0,
    context_s=1e-8,
    touched=1.0,
    four_bits=1.0,
)
STATUS = "seen: the form was chosen with all 1,324 runs in view"
PART = "served mixtures"  # of the record


def made(predictor: ServedPredictor, extra: ServedConstants) -> Times:
    """Times of all rows, beside the six constants of dense models."""
    return predictor.served(achieved(), extra)


def apart(predictor: ServedPredictor) -> np.ndarray:
    """Which rows nothing is fitted to, [rows]; they are predicted as all others.

    The cookbook asks for a general attention kernel with Kimi-K2.5, whose time grows
    far beyond what another engine or source shows; K2.6 repeats its figures.
    """
    model = predictor.label("model")
    kimi = np.isin(model, ("moonshotai/Kimi-K2.5", REPEATED))
    found: np.ndarray = kimi & (source_of(predictor) == COOKBOOK)
    return found


def root_weights(predictor: ServedPredictor) -> Floats:
    """Weights of the rows, [rows]: of n of a model and source each 1 / √n."""
    _, own, counts = np.unique(
        cell_of(predictor), return_inverse=True, return_counts=True
    )
    found: Floats = np.where(apart(predictor), 0.0, counts[own] ** -0.5)
    return found


SERVED = ExtraFit(START, made, root_weights)


@cache
def seen_rows() -> tuple[MeasuredRow, ...]:
    """The runs of the four blind trials."""
    return (*blind_rows(), *fourth_runs())


@cache
def all_runs() -> ServedPredictor:
    """They, counted by the engine."""
    return ServedPredictor(seen_rows())


def served_constants() -> ServedConstants:
    """The constants that the book predicts served mixtures with, as recorded."""
    return ServedConstants(**record()[PART]["constants"][EACH])


def served_errors(kind: Kind) -> list[float]:
    """Errors of all runs, each by constants fitted without its model, as recorded."""
    found: list[float] = record()[PART]["errors"][kind]
    return found


def without_its_model(predictor: ServedPredictor) -> Times:
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
        "model and source left out": new_to_both(predictor, SERVED, apart(predictor)),
        "errors": {kind: each.tolist() for kind, each in error.items()},
    }


def _scores(predictor: ServedPredictor, times: Times) -> dict[str, Any]:
    """Scores of all rows and by the name of the model and of the source."""
    server, found = predictor.label("server"), dict[str, Any]()
    of_all = np.full(len(server), EACH)
    for label in (of_all, shape_names(predictor), source_of(predictor)):
        for name in np.unique(label):
            found[str(name)] = {
                kind: score_of(
                    errors(times, predictor.measured, kind)[label == name],
                    server[label == name],
                ).plain()
                for kind in SCORED
            }
    return found
