"""Three constants of :mod:`.launch_form`, fitted to all runs of three blind trials.

The six of dense models stay, TPOT alone is fitted, and each model counts as much as
another. With a model, and with a source, left out, the form is cross-validated; it was
chosen with all of these runs in view.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.validation.blind import blind_rows
from llmserve_lab.validation.constants import achieved
from llmserve_lab.validation.experts import stored_runs
from llmserve_lab.validation.extra_fit import ExtraFit
from llmserve_lab.validation.kernel_fit import EACH, KERNELS
from llmserve_lab.validation.kernel_form import KernelPredictor
from llmserve_lab.validation.latent_rows import latent_runs
from llmserve_lab.validation.launch_form import LaunchConstants, LaunchPredictor
from llmserve_lab.validation.prediction import Times, errors
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.scores import score_of
from llmserve_lab.validation.third_rows import COOKBOOK, CookbookRow

REPEATED = "moonshotai/Kimi-K2.6"  # its page has the figures of another model's
START = LaunchConstants(kernel_s=6e-6, products=3.0, launched=10.0)


def made(predictor: LaunchPredictor, extra: LaunchConstants) -> Times:
    """Times of all rows, beside the six constants of dense models."""
    return predictor.launching(achieved(), extra)


LAUNCHES = ExtraFit(START, made)


def seen_rows() -> tuple[MeasuredRow, ...]:
    """Runs of the first three trials, but those that repeat another model's figures."""
    return tuple(row for row in blind_rows() if row.model != REPEATED)


@cache
def seen_runs() -> LaunchPredictor:
    """These runs, counted by the engine."""
    return LaunchPredictor(seen_rows())


def source_of(predictor: KernelPredictor) -> np.ndarray:
    """Where a row is from, [rows]: the cookbook, or the trial it was taken for."""
    trials = {"first": set(stored_runs()), "second": set(latent_runs())}

    def of(row: MeasuredRow) -> str:
        if isinstance(row, CookbookRow):
            return COOKBOOK
        return next((name for name, runs in trials.items() if row in runs), "third")

    return np.array([of(row) for row in predictor.rows])


def recorded() -> dict[str, Any]:
    """All that the record has of this form, and of the one before, on these runs."""
    predictor = seen_runs()
    fitted = LAUNCHES.fit(predictor)
    model, source = predictor.label("model"), source_of(predictor)
    sets, scored = {EACH: fitted}, {"in sample": made(predictor, fitted)}
    before = KernelPredictor(predictor.rows, predictor.exposures)
    for name, label in (("model", model), ("source", source)):
        found = LAUNCHES.without(predictor, label)
        sets |= found
        scored[f"{name} left out"] = LAUNCHES.left_out(predictor, label, found)
        old = KERNELS.left_out(before, label, KERNELS.without(before, label))
        scored[f"{name} left out, before"] = old
    return {
        "status": "seen: the form was chosen with all runs in view",
        "constants": {name: asdict(each) for name, each in sets.items()},
        **{name: _scores(predictor, each) for name, each in scored.items()},
    }


def _scores(predictor: LaunchPredictor, times: Times) -> dict[str, dict[str, Any]]:
    """Scores of TPOT of all, by model, by source and by engine."""
    server = predictor.label("server")
    error = errors(times, predictor.measured, "tpot")
    found = {EACH: score_of(error, server).plain()}
    labels = (predictor.label(name) for name in ("model", "engine"))
    for label in (*labels, source_of(predictor)):
        for name in np.unique(label):
            own = label == name
            found[str(name)] = score_of(error[own], server[own]).plain()
    return found
