"""Bands of served mixtures of experts: what is left out costs.

As :mod:`.coverage` does it for dense models: everything of one name is left out, the
constants of :mod:`.served` are fitted to the rest, each model of it left out in its
turn, and bands of these errors are tried on what was left out: a model, a GPU, an
engine, or a source that ran the servers. The form was chosen with all runs in view, so
that this is calibrated and not blind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from llmserve_lab.validation.coverage import (
    Trial,
    Trials,
    compared,
    share,
    stretch_of,
)
from llmserve_lab.validation.experts import SCORED
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.served import SERVED, made, without_its_model
from llmserve_lab.validation.served_form import ServedPredictor
from llmserve_lab.validation.served_sources import shape_names, source_of

LABELS: Mapping[str, Callable[[ServedPredictor], np.ndarray]] = MappingProxyType(
    {
        "model": shape_names,
        "system": lambda predictor: predictor.label("system"),
        "engine": lambda predictor: predictor.label("engine"),
        "source": source_of,
    }
)


def trials(predictor: ServedPredictor) -> Trials:
    """Bands of the rest, tried on every shape, system, engine and source left out."""
    found: dict[str, dict[Kind, dict[str, Trial]]] = {}
    for by, label_of in LABELS.items():
        label = label_of(predictor)
        found[by] = {kind: {} for kind in SCORED}
        for name in np.unique(label):
            rest, own = predictor.subset(label != name), predictor.subset(label == name)
            mine = made(own, SERVED.fit(rest))
            tried = compared(rest, own, without_its_model(rest), mine, kinds=SCORED)
            for kind, trial in tried.items():
                found[by][kind][str(name)] = trial
    return found


def covered(predictor: ServedPredictor) -> dict[str, Any]:
    """How much wider than near errors bands must be, and what they hold by label."""
    tried = trials(predictor)
    stretch = {kind: stretch_of(tried, kind, tuple(LABELS)) for kind in SCORED}
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
