"""Scores of mixtures of experts: blind, and with what was learned of them left out.

The blind score is that of :mod:`.experts`, whose form and constants had seen no such
run; its errors are in the bands (:mod:`.mixtures`). The form of :mod:`.expert_form` was
written with these runs in view: with each model left out of the fit in turn it is
cross-validated.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from llmserve_lab.validation.expert_fit import (
    facts_alone,
    fit_extra,
    left_out,
    refitted,
    without_model,
)
from llmserve_lab.validation.expert_form import MendedPredictor
from llmserve_lab.validation.experts import OPENED, SCORED, predict
from llmserve_lab.validation.prediction import KINDS, Times, errors
from llmserve_lab.validation.rows import SHA256
from llmserve_lab.validation.scores import ErrorScore, permuted, score_of

EACH = "all"  # the name of all models together


def scores_by_model(
    predictor: MendedPredictor, times: Times
) -> dict[str, dict[str, ErrorScore]]:
    """Scores by model, and of all together, of each kind of time.

    TTFT is among them, although no protocol is public: it says how little is known.
    """
    model, server = predictor.label("model"), predictor.label("server")
    found: dict[str, dict[str, ErrorScore]] = {}
    for name in (*map(str, np.unique(model)), EACH):
        own = (model == name) | (name == EACH)
        found[name] = {
            kind: score_of(errors(times, predictor.measured, kind)[own], server[own])
            for kind in KINDS
        }
    return found


def biases(predictor: MendedPredictor, times: Times) -> dict[str, tuple[int, float]]:
    """Runs and bias of TPOT, by model, GPU, engine and precision together."""
    group = predictor.label("group")
    error = errors(times, predictor.measured, "tpot")
    return {
        str(name): (int((group == name).sum()), float(error[group == name].mean()))
        for name in np.unique(group)
    }


def sampled(predictor: MendedPredictor, nth: int) -> MendedPredictor:
    """Every ``nth`` row."""
    return predictor.subset(np.arange(len(predictor.rows)) % nth == 0)


def recorded(
    predictor: MendedPredictor, *, permutations: int, nth: int
) -> dict[str, Any]:
    """All that the record has of mixtures of experts; every ``nth`` row is a sample."""
    blind = predict(predictor.rows)
    fitted = without_model(predictor)
    tested = left_out(predictor, fitted)
    error = {kind: errors(blind, predictor.measured, kind) for kind in SCORED}
    sets = {
        EACH: fit_extra(predictor),
        "sample": fit_extra(sampled(predictor, nth)),
        **fitted,
    }
    return {
        "status": [OPENED.kind, OPENED.date],
        "rows_sha256": SHA256["expert_rows.csv"],
        "constants": {name: asdict(each) for name, each in sets.items()},
        "blind": _plain(scores_by_model(predictor, blind)),
        "facts alone": _plain(scores_by_model(predictor, facts_alone(predictor))),
        "model left out": _plain(scores_by_model(predictor, tested)),
        "in sample": _plain(scores_by_model(predictor, refitted(predictor))),
        "groups": biases(predictor, tested),
        "permuted": permuted(predictor, times=permutations, refitted=refitted).tolist(),
        "errors": {kind: each.tolist() for kind, each in error.items()},
    }


def _plain(
    found: dict[str, dict[str, ErrorScore]],
) -> dict[str, dict[str, dict[str, Any]]]:
    """Scores as the record has them."""
    return {
        name: {kind: each.plain() for kind, each in kinds.items()}
        for name, kinds in found.items()
    }
