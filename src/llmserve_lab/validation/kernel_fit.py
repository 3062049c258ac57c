"""Two constants of :mod:`.kernel_form`, fitted to the 980 runs of both blind trials.

As :mod:`.expert_fit` does it: the six of dense models stay, TPOT alone is fitted, and
each model counts as much as another. With a model left out, and with a trial left out,
the form is cross-validated; it was chosen with all runs in view.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.validation.constants import achieved
from llmserve_lab.validation.expert_fit import weights
from llmserve_lab.validation.experts import stored_runs
from llmserve_lab.validation.fit import TPOT_DAMPED, damped
from llmserve_lab.validation.kernel_form import KernelConstants, KernelPredictor
from llmserve_lab.validation.latent_rows import latent_runs
from llmserve_lab.validation.prediction import Times, errors
from llmserve_lab.validation.scores import pieced, score_of
from llmserve_lab.validation.unit_work import Floats

START = KernelConstants(kernel_s=6e-6, products=3.0)
EACH = "all"  # the name of all runs together


@cache
def seen_runs() -> KernelPredictor:
    """The runs of the first and of the second trial."""
    return KernelPredictor((*stored_runs(), *latent_runs()))


def trial_of(predictor: KernelPredictor) -> np.ndarray:
    """The name of the trial in which a row was blind, [rows]."""
    of_first = {row.model for row in stored_runs()}
    return np.array(
        ["first" if row.model in of_first else "second" for row in predictor.rows]
    )


def residuals(predictor: KernelPredictor, extra: KernelConstants) -> Floats:
    """What the fit makes small, [rows]: weighted and damped errors of log TPOT."""
    made = predictor.timed(achieved(), extra).tpot
    error = damped(np.log(made / predictor.measured.tpot), TPOT_DAMPED)
    found: Floats = np.sqrt(weights(predictor)) * error
    return found


def fit_kernels(predictor: KernelPredictor) -> KernelConstants:
    """The two constants that come nearest to the measured TPOT of all rows."""
    from llmserve_lab.extras import optimize

    def of(logs: Floats) -> KernelConstants:
        kernel_s, products = np.exp(logs)
        return KernelConstants(kernel_s=float(kernel_s), products=float(products))

    begin = np.log([START.kernel_s, START.products])
    found = optimize.least_squares(
        lambda logs: residuals(predictor, of(logs)), begin, x_scale=0.1
    )
    return of(found.x)


def left_out(
    predictor: KernelPredictor, label: np.ndarray
) -> tuple[dict[str, KernelConstants], Times]:
    """Constants by the label that is left out, and each row's times from its own."""
    sets = {
        str(name): fit_kernels(predictor.subset(label != name))
        for name in np.unique(label)
    }

    def made(tested: np.ndarray) -> Times:
        (name,) = set(label[tested])
        return predictor.subset(tested).timed(achieved(), sets[str(name)])

    return sets, pieced(label, made)


def recorded() -> dict[str, Any]:
    """All that the record has of this form on the runs that it was chosen on."""
    predictor = seen_runs()
    model, trial = predictor.label("model"), trial_of(predictor)
    by_model, of_models = left_out(predictor, model)
    by_trial, of_trials = left_out(predictor, trial)
    fitted = fit_kernels(predictor)
    scored = {
        "in sample": predictor.timed(achieved(), fitted),
        "model left out": of_models,
        "trial left out": of_trials,
    }
    sets = {EACH: fitted, **by_model, **by_trial}
    return {
        "status": "seen: the form was chosen with all runs in view",
        "constants": {name: asdict(each) for name, each in sets.items()},
        **{name: _scores(predictor, each) for name, each in scored.items()},
    }


def _scores(predictor: KernelPredictor, times: Times) -> dict[str, dict[str, Any]]:
    """Scores of TPOT by model, by trial and of all."""
    server = predictor.label("server")
    error = errors(times, predictor.measured, "tpot")
    found = {EACH: score_of(error, server).plain()}
    for label in (predictor.label("model"), trial_of(predictor)):
        for name in np.unique(label):
            own = label == name
            found[str(name)] = score_of(error[own], server[own]).plain()
    return found
