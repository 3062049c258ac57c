"""Leave-one-group-out scores: how wrong the model is on what it was not fitted to.

All rows of one model (or system, engine, precision, group) are left out, the constants
are fitted to the others, and these predict the ones left out. The form of the model was
chosen with all rows in view: the scores are cross-validated, not blind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np

from llmserve_lab.checks import whole
from llmserve_lab.validation.constants import DATASHEET, ServingConstants
from llmserve_lab.validation.fit import FREE, START, WITH_EXPONENT, fit
from llmserve_lab.validation.intervals import FEWEST, SEED, Interval, mean_interval
from llmserve_lab.validation.prediction import KINDS, Kind, Predictor, Times, errors
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.unit_work import Floats

P = TypeVar("P", bound=Predictor)
LEFT_OUT = ("model", "system", "engine", "precision", "group")


@dataclass(frozen=True, kw_only=True)
class ErrorScore:
    """Absolute relative errors of ``n`` rows: their mean, with an interval, and median.

    ``interval`` holds 95 % of the means of servers drawn again with replacement, and
    one server alone has none; ``bias`` is the mean of the signed errors.
    """

    n: int
    mean: float
    median: float
    bias: float
    interval: Interval | None

    def plain(self) -> dict[str, Any]:
        """A score as the record has it; no ends are stored where one server is."""
        parts = asdict(self)
        ends = parts.pop("interval")
        return parts | (ends._asdict() if ends else {})


def left_out(
    predictor: Predictor,
    by: str,
    *,
    free: tuple[str, ...] = FREE,
    start: ServingConstants = START,
) -> Times:
    """Times of each row from constants fitted to the rows that differ in ``by``.

    Raises:
        ValueError: all rows agree in it, so that none would be left to fit.
    """
    label = predictor.label(by)
    names = np.unique(label)
    if len(names) < 2:
        raise ValueError(f"by must tell rows apart, got {by!r}, always {names[0]}")
    times = {kind: np.empty(len(label)) for kind in KINDS}
    for name in names:
        tested = label == name
        reached = fit(predictor.subset(~tested), free=free, start=start)
        found = predictor.subset(tested).predict(reached)
        for kind in KINDS:
            times[kind][tested] = getattr(found, kind)
    return Times(**times)


def pieced(label: np.ndarray, made: Callable[[np.ndarray], Times]) -> Times:
    """Times of all rows, ``made`` apart for those of each name in ``label`` [rows].

    :func:`left_out` has the same loop, written out: a page shows it whole.
    """
    times = {kind: np.empty(len(label)) for kind in KINDS}
    for name in np.unique(label):
        own = label == name
        found = made(own)
        for kind in KINDS:
            times[kind][own] = getattr(found, kind)
    return Times(**times)


def scaled(predictor: Predictor, by: str) -> Times:
    """The naive yardstick: the datasheet's times, each kind by one fitted factor.

    The factor is the median of measured / predicted of the rows that differ in ``by``.
    """
    label, sheet = predictor.label(by), predictor.predict(DATASHEET)
    times = {}
    for kind in KINDS:
        made, true = getattr(sheet, kind), getattr(predictor.measured, kind)
        times[kind] = np.array(
            [
                each * np.median((true / made)[label != name])
                for each, name in zip(made, label, strict=True)
            ]
        )
    return Times(**times)


def per_engine(predictor: Predictor) -> Times:
    """Times of each row from constants of its own engine and generation, in sample.

    The exponent is fitted too: where all rows have one precision, it tells products in
    few bits from attention in 16.
    """
    label = np.char.add(predictor.label("engine"), predictor.label("generation"))

    def made(chosen: np.ndarray) -> Times:
        own = predictor.subset(chosen)
        return own.predict(fit(own, free=WITH_EXPONENT))

    return pieced(label, made)


def score(predictor: Predictor, predicted: Times, kind: Kind) -> ErrorScore:
    """Errors of one kind; of TTFT those of rows with a public protocol.

    Raises:
        ValueError: there is no such row.
    """
    error = errors(predicted, predictor.measured, kind)
    server = predictor.label("server")
    if kind == "ttft":
        error, server = error[predictor.public], server[predictor.public]
    if not len(error):
        raise ValueError(f"rows must have a public protocol to score {kind}, got none")
    return score_of(error, server)


def score_of(error: Floats, server: np.ndarray) -> ErrorScore:
    """Score of relative errors [rows] of runs of some servers [rows]."""
    several = len(np.unique(server)) >= FEWEST
    return ErrorScore(
        n=len(error),
        mean=float(np.abs(error).mean()),
        median=float(np.median(np.abs(error))),
        bias=float(error.mean()),
        interval=mean_interval(np.abs(error), server) if several else None,
    )


def scores(predictor: Predictor, predicted: Times) -> Mapping[Kind, ErrorScore]:
    """A score for each kind of time that has rows."""
    kinds = KINDS if predictor.public.any() else ("tpot", "e2e")
    return {kind: score(predictor, predicted, kind) for kind in kinds}


def permuted(
    predictor: P,
    *,
    times: int,
    seed: int = SEED,
    refitted: Callable[[P], Times] | None = None,
) -> Floats:
    """Mean TPOT errors after the measured times have been dealt out anew, [times].

    They are exchanged among rows of equal lengths and clients, and the constants are
    fitted again (by ``refitted``, if they are not the six): what is left is what the
    model knows without the server.
    """
    whole(times=times)
    rng = np.random.default_rng(seed)
    keys = ("prompt_len", "output_len", "clients")
    label = np.array(
        ["/".join(str(getattr(row, key)) for key in keys) for row in predictor.rows]
    )
    found = []
    for _ in range(times):
        dealt = type(predictor)(_dealt(predictor.rows, label, rng), predictor.exposures)
        made = refitted(dealt) if refitted else dealt.predict(fit(dealt))
        error = errors(made, dealt.measured, "tpot")
        found.append(float(np.abs(error).mean()))
    return np.array(found)


def _dealt(
    rows: tuple[MeasuredRow, ...], label: np.ndarray, rng: np.random.Generator
) -> list[MeasuredRow]:
    source = np.arange(len(rows))
    for name in np.unique(label):
        places = np.flatnonzero(label == name)
        source[places] = rng.permutation(places)
    return [
        replace(row, ttft_s=rows[place].ttft_s, tpot_s=rows[place].tpot_s)
        for row, place in zip(rows, source, strict=True)
    ]
