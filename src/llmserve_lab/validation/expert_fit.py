"""Two constants of mixtures of experts, fitted beside the six of dense models.

The six stay as they are. TPOT alone is fitted, since the protocol of these runs is not
public, with the loss of :mod:`.fit`; each model counts as much as another, whatever
the number of its runs.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.validation.constants import achieved
from llmserve_lab.validation.expert_form import (
    DENSE,
    ExpertConstants,
    MendedPredictor,
)
from llmserve_lab.validation.fit import TPOT_DAMPED, damped
from llmserve_lab.validation.prediction import Times
from llmserve_lab.validation.scores import pieced
from llmserve_lab.validation.unit_work import Floats

START = ExpertConstants(layer_s=2e-5, products=2.0)


def weights(predictor: MendedPredictor) -> Floats:
    """Weights of the rows, [rows], whose sum is the same for each model."""
    model = predictor.label("model")
    names, own, counts = np.unique(model, return_inverse=True, return_counts=True)
    found: Floats = len(model) / (len(names) * counts[own])
    return found


def residuals(predictor: MendedPredictor, extra: ExpertConstants) -> Floats:
    """What the fit makes small, [rows]: weighted and damped errors of log TPOT."""
    made = predictor.predict(achieved(), extra).tpot
    error = damped(np.log(made / predictor.measured.tpot), TPOT_DAMPED)
    found: Floats = np.sqrt(weights(predictor)) * error
    return found


def loss(predictor: MendedPredictor, extra: ExpertConstants) -> float:
    """Half the sum of squared residuals."""
    rest = residuals(predictor, extra)
    return float(rest @ rest / 2)


def fit_extra(
    predictor: MendedPredictor, *, start: ExpertConstants = START
) -> ExpertConstants:
    """The two constants that come nearest to the measured TPOT of all rows.

    Raises:
        ValueError: a constant to start from is zero.
    """
    from llmserve_lab.extras import optimize

    if not (start.layer_s > 0 and start.products > 0):
        raise ValueError(f"start must be above 0 in both, got {start}")

    def of(logs: Floats) -> ExpertConstants:
        layer_s, products = np.exp(logs)
        return ExpertConstants(layer_s=float(layer_s), products=float(products))

    begin = np.log([start.layer_s, start.products])
    found = optimize.least_squares(
        lambda logs: residuals(predictor, of(logs)), begin, x_scale=0.1
    )
    return of(found.x)


def without_model(predictor: MendedPredictor) -> dict[str, ExpertConstants]:
    """The constants by the model that is left out of their fit.

    Raises:
        ValueError: all rows are of one model.
    """
    model = predictor.label("model")
    if len(names := np.unique(model)) < 2:
        raise ValueError(f"rows must be of two models or more, got {names[0]} alone")
    return {str(name): fit_extra(predictor.subset(model != name)) for name in names}


def left_out(predictor: MendedPredictor, fitted: dict[str, ExpertConstants]) -> Times:
    """Times of each row from the constants that were fitted without its model."""
    model = predictor.label("model")

    def made(tested: np.ndarray) -> Times:
        (name,) = set(model[tested])
        return predictor.subset(tested).predict(achieved(), fitted[name])

    return pieced(model, made)


def refitted(predictor: MendedPredictor) -> Times:
    """Times of each row from constants that were fitted to all of them."""
    return predictor.predict(achieved(), fit_extra(predictor))


def facts_alone(predictor: MendedPredictor) -> Times:
    """Times with the facts of the models mended and nothing fitted."""
    return predictor.predict(achieved(), DENSE)
