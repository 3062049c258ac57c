"""Do the bands cover? Everything of one name is left out, bands of the rest are tried.

The book is written again without a model, an engine, a kind of GPU or a precision: the
constants are fitted to the other rows, each with its model left out in turn, and bands
are made of their errors. Then the rows that were left out are predicted, and those
inside their band are counted. How much wider a band must be than the errors of the rows
nearest to it is read off there, so that coverage is calibrated, not blind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from llmserve_lab.validation.bands import (
    INSIDE,
    NEAREST,
    TAILS,
    Places,
    half_width,
    nearest,
)
from llmserve_lab.validation.fit import fit
from llmserve_lab.validation.prediction import (
    KINDS,
    Kind,
    Predictor,
    Times,
    errors,
)
from llmserve_lab.validation.scores import left_out
from llmserve_lab.validation.setting import Setting
from llmserve_lab.validation.unit_work import Floats

TRIED = ("model", "system", "engine", "precision")
STRETCHED_FOR = TRIED[:3]  # a new model, GPU or engine is what a band is asked for
STEP = 0.1  # of the stretch
MOST_STRETCH = 5.0


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows of one name that was left out, and the errors of the rows nearest to each.

    ``error`` [rows] are theirs, ``near`` [rows, nearest] those that make their bands.
    """

    error: Floats
    near: Floats

    @cached_property
    def widths(self) -> Floats:
        """Half widths of the bands before they are stretched, [rows]."""
        return np.array([half_width(near) for near in self.near])

    def needed(self, *, signed: bool = False) -> Floats:
        """By how much each row's band must be stretched to hold it, [rows].

        ``signed``: below zero where the prediction is too short.
        """
        found: Floats = np.log1p(self.error) / self.widths
        return found if signed else np.abs(found)

    def plain(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows lie between two percentiles of the errors near to them, [rows]."""
        low, high = np.percentile(self.near, TAILS, axis=1)
        found: np.ndarray[Any, np.dtype[np.bool_]] = (low <= self.error) & (
            self.error <= high
        )
        return found


Trials = Mapping[str, Mapping[Kind, Mapping[str, Trial]]]


def trials(predictor: Predictor) -> Trials:
    """What was left out, by label, kind of time and name; where no band is, none.

    Without some name only one model may remain, and then no band can be made.
    """
    found: dict[str, dict[Kind, dict[str, Trial]]] = {}
    for by in TRIED:
        label = predictor.label(by)
        found[by] = {kind: {} for kind in KINDS}
        for name in np.unique(label) if len(np.unique(label)) > 1 else ():
            rest, own = predictor.subset(label != name), predictor.subset(label == name)
            if len(np.unique(rest.label("model"))) < 2:
                continue
            for kind, trial in _tried(rest, own).items():
                found[by][kind][str(name)] = trial
    return found


def _tried(rest: Predictor, own: Predictor) -> dict[Kind, Trial]:
    """Bands of the rest, for the rows left out."""
    return compared(rest, own, left_out(rest, "model"), own.predict(fit(rest)))


def compared(
    rest: Predictor,
    own: Predictor,
    others: Times,
    mine: Times,
    *,
    kinds: Iterable[Kind] = KINDS,
) -> dict[Kind, Trial]:
    """Bands of the rest, for the rows left out, by what was predicted of both."""
    found: dict[Kind, Trial] = {}
    for kind in kinds:
        known, asked = (
            np.flatnonzero(each.public | (kind != "ttft")) for each in (rest, own)
        )
        if len(known) < NEAREST or not len(asked):
            continue
        error = errors(others, rest.measured, kind)[known]
        rows = [rest.rows[place] for place in known]
        places = Places.of(rows)
        near = [error[nearest(places, Setting.of(own.rows[place]))] for place in asked]
        found[kind] = Trial(errors(mine, own.measured, kind)[asked], np.array(near))
    return found


def stretch_of(
    found: Trials, kind: Kind, labels: Iterable[str] = STRETCHED_FOR
) -> float:
    """The smallest stretch with which bands cover, whichever label is left out.

    Raises:
        ValueError: none up to five times does.
    """
    labels = tuple(labels)
    for step in range(round(1 / STEP), round(MOST_STRETCH / STEP) + 1):
        stretch = round(step * STEP, 1)
        shares = [share(found[by][kind], stretch) for by in labels]
        if all(each >= INSIDE for each in shares if not np.isnan(each)):
            return stretch
    raise ValueError(f"stretch must be at most {MOST_STRETCH} to cover, got more")


def share(found: Mapping[str, Trial], stretch: float) -> float:
    """Share of the rows of all names that lie in their bands; NaN without a row."""
    needed = [each.needed() for each in found.values()]
    return float((np.concatenate(needed) <= stretch).mean()) if needed else float("nan")


Nested = dict[str, dict[str, dict[Kind, tuple[float, float]]]]


def nested(predictor: Predictor, found: Trials) -> Nested:
    """The stretch chosen without a name, and the share of its rows held with it.

    By label, name and kind. All rows of the name are away while the stretch is chosen,
    so that what it then holds of them is cross-validated; ``found`` are the trials of
    all rows. Where too little remains to choose by, there is none.
    """
    chosen: Nested = {by: {} for by in STRETCHED_FOR}
    for by in STRETCHED_FOR:
        label = predictor.label(by)
        for name in map(str, np.unique(label)):
            inner = trials(predictor.subset(label != name))
            chosen[by][name] = {
                kind: (stretch, share({name: found[by][kind][name]}, stretch))
                for kind in KINDS
                if name in found[by][kind]
                and any(inner[each][kind] for each in STRETCHED_FOR)
                for stretch in [stretch_of(inner, kind)]
            }
    return chosen


def coverage(predictor: Predictor) -> dict[str, Any]:
    """Stretch by kind; by label, kind and name: rows, shares inside by each rule."""
    found = trials(predictor)
    stretch = {kind: stretch_of(found, kind) for kind in KINDS}
    return {
        "stretch": stretch,
        "tried": {
            by: {
                kind: {
                    name: [
                        len(trial.error),
                        float(trial.plain().mean()),
                        share({name: trial}, 1.0),
                        share({name: trial}, stretch[kind]),
                    ]
                    for name, trial in kinds[kind].items()
                }
                for kind in KINDS
            }
            for by, kinds in found.items()
        },
    }
