"""Two constants of :mod:`.kernel_form`, fitted to the 980 runs of two blind trials.

They are those that the third trial was predicted with. With a model left out, and with
a trial left out, the form is cross-validated; it was chosen with all 980 in view. What
the book predicts with is fitted to all runs that are seen by now: :mod:`.served`.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.validation.constants import achieved
from llmserve_lab.validation.experts import stored_runs
from llmserve_lab.validation.extra_fit import ExtraFit
from llmserve_lab.validation.kernel_form import KernelConstants, KernelPredictor
from llmserve_lab.validation.latent_rows import latent_runs
from llmserve_lab.validation.prediction import Times, errors
from llmserve_lab.validation.scores import score_of

START = KernelConstants(kernel_s=6e-6, products=3.0)
EACH = "all"  # the name of all runs together


def made(predictor: KernelPredictor, extra: KernelConstants) -> Times:
    """Times of all rows, beside the six constants of dense models."""
    return predictor.timed(achieved(), extra)


KERNELS = ExtraFit(START, made)
fit_kernels, residuals = KERNELS.fit, KERNELS.residuals


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


def left_out(
    predictor: KernelPredictor, label: np.ndarray
) -> tuple[dict[str, KernelConstants], Times]:
    """Constants by the label that is left out, and each row's times from its own."""
    sets = KERNELS.without(predictor, label)
    return sets, KERNELS.left_out(predictor, label, sets)


def recorded() -> dict[str, Any]:
    """All that the record has of this form on the runs that it was chosen on."""
    predictor = seen_runs()
    fitted = fit_kernels(predictor)
    sets, scored = {EACH: fitted}, {"in sample": made(predictor, fitted)}
    for name, label in (
        ("model", predictor.label("model")),
        ("trial", trial_of(predictor)),
    ):
        found, scored[f"{name} left out"] = left_out(predictor, label)
        sets |= found
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
