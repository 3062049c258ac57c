"""The error band of a prediction: how far off predictions like it have been.

Of the measured rows, those nearest to a setting are looked up, and the errors that the
model made on them when it had not seen their model. The band is a factor either way,
within which 90 % of them lie, stretched until bands made without a model, an engine or
a GPU hold 90 % of what was left out (:mod:`llmserve_lab.validation.coverage`). A
setting that is far from all rows is outside everything measured, and gets no band.

A mixture of experts has the errors of its own form (:mod:`.served`) on the 1,324 runs
of four blind trials, which are seen by now, its constants fitted without the run's
model. Its bands are stretched until those made without a source hold as much, too
(:mod:`.mixtures`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from llmserve_lab.checks import key_of
from llmserve_lab.formula.band import Band, Limit, Unmeasured
from llmserve_lab.validation.beyond import reasons, regime
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import SCORED
from llmserve_lab.validation.prediction import KINDS, Kind
from llmserve_lab.validation.rows import MeasuredRow, dense_rows
from llmserve_lab.validation.served import seen_rows, served_errors
from llmserve_lab.validation.setting import Setting, logs
from llmserve_lab.validation.unit_work import Floats

NEAREST = 60  # rows
INSIDE = 0.9  # share of the errors that a band is to hold
TAILS = (5.0, 95.0)  # percentiles of the errors with as many between them
OTHER_KIND = 1.0  # doublings that another precision or generation counts for
SORTS = ("precision", "generation")

Predicted = Literal[
    "ttft", "tpot", "e2e", "decode_step", "tokens_per_s", "user_tokens_per_s"
]
# Clients in a closed loop get tokens at a rate that is one over the end-to-end time, a
# user those after the first at one over TPOT, which lasts as long as a decode step.
TIMES: Mapping[str, Kind] = MappingProxyType(
    {
        **{kind: kind for kind in KINDS},
        "decode_step": "tpot",
        "tokens_per_s": "e2e",
        "user_tokens_per_s": "tpot",
    }
)
HOW = "each predicted by constants fitted without its model; widened to cover"
HOW_EXPERTS = (
    "each predicted by constants fitted without its model, in a form that was chosen "
    "with these runs in view; widened to cover"
)
DATASHEET = Limit(
    "lower", "all of the datasheet is reached, and nothing else takes time"
)


def band(kind: Predicted, setting: Setting) -> Band | Unmeasured:
    """The error band of a prediction of some ``kind`` in some ``setting``.

    Times are ``"ttft"``, ``"tpot"``, ``"e2e"`` and ``"decode_step"`` (of as many
    requests as clients); rates ``"tokens_per_s"`` and ``"user_tokens_per_s"``. The
    predicting machine is the fitted one, :func:`achieved`; of a mixture of experts
    that of :mod:`.served_cost`.

    Raises:
        LookupError: there is no such kind of prediction.
    """
    key_of("kind", kind, TIMES)
    found = _of_time(TIMES[kind], setting)
    return found.inverse() if kind.endswith("_per_s") else found


def datasheet_bound(kind: Predicted) -> Limit:
    """What a prediction with the whole datasheet is instead: a bound of time or rate.

    Raises:
        LookupError: there is no such kind of prediction.
    """
    key_of("kind", kind, TIMES)
    return DATASHEET.inverse() if kind.endswith("_per_s") else DATASHEET


@cache
def _of_time(kind: Kind, setting: Setting) -> Band | Unmeasured:
    if reason := _outside(kind, setting):
        return Unmeasured(reason)
    rows, error, places = _known(kind, setting.dense)
    near = nearest(places, setting)
    half = stretch(kind, dense=setting.dense) * half_width(error[near])
    low, high = (float(np.expm1(sign * half)) for sign in (-1, 1))
    how = HOW if setting.dense else HOW_EXPERTS
    return Band(low, high, regime([rows[place] for place in near]), len(near), how)


def spread(kind: Kind, setting: Setting) -> Band | Unmeasured:
    """Where the middle nine tenths of the nearest errors lie, as they were measured.

    It describes those rows and promises nothing about others; :func:`band` does.
    """
    if reason := _outside(kind, setting):
        return Unmeasured(reason)
    rows, error, places = _known(kind, setting.dense)
    near = nearest(places, setting)
    low, high = (float(each) for each in np.percentile(error[near], TAILS))
    return Band(low, high, regime([rows[place] for place in near]), len(near))


def stretch(kind: Kind, *, dense: bool = True) -> float:
    """How many times wider a band is, in logarithms, than the errors of near rows.

    The smallest tenth with which it covers what was left out; see the record.
    """
    found = record()["coverage" if dense else "mixtures"]
    return float(found["stretch"][kind])


def half_width(error: Floats) -> float:
    """Size of the logarithm of predicted / measured that 90 % of the errors stay below.

    A factor either way, and not two ends: an engine without a measured row may lean to
    the other side.
    """
    return float(np.percentile(np.abs(np.log1p(error)), 100 * INSIDE))


class Places(NamedTuple):
    """Where rows lie: their names in each of ``SORTS``, [rows, 2], and their logs."""

    sorts: np.ndarray[Any, np.dtype[np.str_]]
    numbers: Floats

    @classmethod
    def of(cls, rows: Iterable[MeasuredRow]) -> Places:
        """Looked up once for all settings that are compared with the rows."""
        settings = [Setting.of(row) for row in rows]
        sorts = [[getattr(each, name) for name in SORTS] for each in settings]
        return cls(np.array(sorts), np.array([logs(each) for each in settings]))

    def at(self, chosen: np.ndarray[Any, np.dtype[np.int64]]) -> Places:
        """Where the chosen rows lie."""
        return Places(self.sorts[chosen], self.numbers[chosen])


def nearest(places: Places, setting: Setting) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Places of the rows nearest to a setting, among rows that lie so."""
    return np.argsort(_distance(places, setting), kind="stable")[:NEAREST]


@cache
def _known(kind: Kind, dense: bool) -> tuple[tuple[MeasuredRow, ...], Floats, Places]:
    """Rows that a kind is validated on, their errors, and where they lie."""
    if dense:
        rows, errors = dense_rows(), record()["errors"][kind]
    else:
        rows, errors = seen_rows(), served_errors(kind)
    chosen = [
        (row, error)
        for row, error in zip(rows, errors, strict=True)
        if row.public or kind != "ttft"
    ]
    kept = tuple(row for row, _ in chosen)
    return kept, np.array([error for _, error in chosen]), Places.of(kept)


def _distance(places: Places, setting: Setting) -> Floats:
    """Doublings between the setting and each row, as the crow flies."""
    apart = ((places.numbers - np.array(logs(setting))) ** 2).sum(axis=1)
    for own, name in zip(places.sorts.T, SORTS, strict=True):
        apart += OTHER_KIND * (own != getattr(setting, name))
    distance: Floats = np.sqrt(apart)
    return distance


def _outside(kind: Kind, setting: Setting) -> str:
    """Why nothing measured of this kind is like it, in words; empty if something is."""
    if not setting.dense and kind not in SCORED:
        return "a mixture of experts: most runs of one have no public protocol"
    rows, _, places = _known(kind, setting.dense)
    return "; ".join(reasons(setting, rows, places.numbers))
