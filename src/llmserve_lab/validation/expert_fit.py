"""Two constants of mixtures of experts, fitted beside the six of dense models.

TPOT alone is fitted, since the protocol of these runs is not public; each model counts
as much as another, whatever the number of its runs.
"""

from __future__ import annotations

from llmserve_lab.validation.constants import achieved
from llmserve_lab.validation.expert_form import (
    DENSE,
    ExpertConstants,
    MendedPredictor,
)
from llmserve_lab.validation.extra_fit import ExtraFit, model_weights
from llmserve_lab.validation.prediction import Times

START = ExpertConstants(layer_s=2e-5, products=2.0)


def _made(predictor: MendedPredictor, extra: ExpertConstants) -> Times:
    return predictor.predict(achieved(), extra)


EXPERTS = ExtraFit(START, _made)
fit_extra, loss, weights = EXPERTS.fit, EXPERTS.loss, model_weights


def without_model(predictor: MendedPredictor) -> dict[str, ExpertConstants]:
    """The constants by the model that is left out of their fit.

    Raises:
        ValueError: all rows are of one model.
    """
    return EXPERTS.without(predictor, predictor.label("model"))


def left_out(predictor: MendedPredictor, fitted: dict[str, ExpertConstants]) -> Times:
    """Times of each row from the constants that were fitted without its model."""
    return EXPERTS.left_out(predictor, predictor.label("model"), fitted)


def refitted(predictor: MendedPredictor) -> Times:
    """Times of each row from constants that were fitted to all of them."""
    return _made(predictor, fit_extra(predictor))


def facts_alone(predictor: MendedPredictor) -> Times:
    """Times with the facts of the models mended and nothing fitted."""
    return _made(predictor, DENSE)
