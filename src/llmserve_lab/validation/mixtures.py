"""Bands of mixtures of experts, from the blind errors of all trials.

The errors are those of the machine that was fitted to dense models, which makes the
book's predictions, of the runs of :mod:`.blind`. Each model, GPU and engine is left out
in its turn, and bands of the rest are tried on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from llmserve_lab.validation.bands import NEAREST, Places, nearest
from llmserve_lab.validation.blind import blind_rows
from llmserve_lab.validation.coverage import (
    STRETCHED_FOR,
    Trial,
    Trials,
    share,
    stretch_of,
)
from llmserve_lab.validation.experts import SCORED
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.setting import Setting
from llmserve_lab.validation.unit_work import Floats


def trials(rows: Sequence[MeasuredRow], error: Mapping[Kind, Floats]) -> Trials:
    """Bands of blind errors, tried on every model, system and engine left out."""
    settings = [Setting.of(row) for row in rows]
    places = Places.of(rows)
    found: dict[str, Any] = {}
    for by in STRETCHED_FOR:
        label = np.array([getattr(row, by) for row in rows])
        found[by] = {kind: {} for kind in SCORED}
        for name in np.unique(label):
            rest, own = (np.flatnonzero((label != name) == it) for it in (True, False))
            if len(rest) < NEAREST:
                continue
            others = places.at(rest)
            near = np.array([nearest(others, settings[place]) for place in own])
            for kind in SCORED:
                trial = Trial(error[kind][own], error[kind][rest][near])
                found[by][kind][str(name)] = trial
    return found


def covered(*blind: Mapping[Kind, Sequence[float]]) -> dict[str, Any]:
    """How much wider than near errors bands must be, and what they hold by label.

    ``blind`` are the errors of the trials, in the order of their runs.
    """
    rows = blind_rows()
    error: dict[Kind, Floats] = {
        kind: np.concatenate([each[kind] for each in blind]) for kind in SCORED
    }
    tried = trials(rows, error)
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
