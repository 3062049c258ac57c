"""Bands of served mixtures of experts: what a model, an engine or a GPU left out costs.

As :mod:`.coverage` does it for dense models: everything of one name is left out, the
two constants of :mod:`.served` are fitted to the rest, each model of it left out in its
turn, and bands of these errors are tried on what was left out. The form was chosen with
980 of the 1,220 runs in view, so that this is calibrated and not blind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.validation.coverage import (
    STRETCHED_FOR,
    Trial,
    Trials,
    compared,
    share,
    stretch_of,
)
from llmserve_lab.validation.experts import SCORED
from llmserve_lab.validation.kernel_fit import made
from llmserve_lab.validation.kernel_form import KernelPredictor
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.served import SERVED, shape_names, without_its_model


def trials(predictor: KernelPredictor) -> Trials:
    """Bands of the rest, tried on every shape, system and engine left out."""
    found: dict[str, dict[Kind, dict[str, Trial]]] = {}
    for by in STRETCHED_FOR:
        label = shape_names(predictor) if by == "model" else predictor.label(by)
        found[by] = {kind: {} for kind in SCORED}
        for name in np.unique(label):
            rest, own = predictor.subset(label != name), predictor.subset(label == name)
            mine = made(own, SERVED.fit(rest))
            tried = compared(rest, own, without_its_model(rest), mine, kinds=SCORED)
            for kind, trial in tried.items():
                found[by][kind][str(name)] = trial
    return found


def covered(predictor: KernelPredictor) -> dict[str, Any]:
    """How much wider than near errors bands must be, and what they hold by label."""
    tried = trials(predictor)
    stretch = {kind: stretch_of(tried, kind) for kind in SCORED}
    return {
        "stretch": stretch,
        "held": {
            by: {
                kind: {
                    name: [len(each.error), share({name: each}, stretch[kind])]
                    for name, each in kinds[kind].items()
                }
                for kind in SCORED
            }
            for by, kinds in tried.items()
        },
    }
