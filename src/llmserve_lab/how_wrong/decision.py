"""From a prediction and its band to a number of GPUs, under a promise to the users.

The example's server with 4 to 64 clients: what is predicted, the worst end of the band,
the most clients that still keep the promise there, and servers for the tokens asked.
Any number of clients may be planned with; some of them were measured.
Predictions and bands are as if no row of that server had been measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, expm1

import numpy as np

from llmserve_lab.checks import key_of
from llmserve_lab.how_wrong import example
from llmserve_lab.how_wrong.record import chosen
from llmserve_lab.validation import Band, MeasuredRow, Predictor, Setting
from llmserve_lab.validation.bands import (
    TAILS,
    TIMES,
    Places,
    Predicted,
    half_width,
    nearest,
    stretch,
)
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.unit_work import Floats

TPOT_S, TTFT_S = 0.020, 1.0  # promised: the longest mean times that users are given
# Digits of a prediction in s and of its factor, as the page prints them.
ROUNDED: tuple[tuple[Kind, int, int], ...] = (("tpot", 5, 3), ("ttft", 3, 2))
ENGINE = "vllm"  # of the example
ASKED_PER_S = 40_000.0  # output tokens that all users together ask for, per second


@dataclass(frozen=True)
class Forecast:
    """A mean time as a planner writes it down: prediction, factor, and what was found.

    Prediction and factor are rounded as they are printed, so that the printed numbers
    multiply to the printed longest time.
    """

    predicted_s: float
    factor: float
    measured_s: float | None = None

    @property
    def longest_s(self) -> float:
        """The time at the worse end of the band."""
        return self.predicted_s * self.factor


@dataclass(frozen=True)
class PlannedLoad:
    """A server with so many clients, and answers of so many tokens in the mean."""

    clients: int
    answer_len: float
    tpot: Forecast
    ttft: Forecast

    def answer_s(self, which: str) -> float:
        """A whole answer: its first token, then one TPOT for each of the others.

        ``which`` is ``"predicted_s"``, ``"longest_s"`` or ``"measured_s"``.
        """
        first, each = (float(getattr(one, which)) for one in (self.ttft, self.tpot))
        return first + (self.answer_len - 1) * each

    def tokens_per_s(self, which: str) -> float:
        """The rate: each client always has one answer under way."""
        return self.clients * self.answer_len / round(self.answer_s(which), 2)

    def at(self, tpot: float, ttft: float | None = None) -> PlannedLoad:
        """The same load by another factor of TPOT, and of TTFT if one is given."""
        first = self.ttft.factor if ttft is None else ttft
        return replace(
            self,
            tpot=replace(self.tpot, factor=tpot),
            ttft=replace(self.ttft, factor=first),
        )

    @property
    def keeps(self) -> bool:
        """Whether both promises are kept at the worse ends."""
        return self.tpot.longest_s <= TPOT_S and self.ttft.longest_s <= TTFT_S

    @property
    def hopes(self) -> bool:
        """Whether the predictions alone keep them."""
        return self.tpot.predicted_s <= TPOT_S and self.ttft.predicted_s <= TTFT_S


def measured_loads() -> tuple[PlannedLoad, ...]:
    """The example's rows as a planner would see them."""
    rows = [row.clients for row in example.rows()]
    return tuple(load for load in loads() if load.clients in rows)


@cache
def loads() -> tuple[PlannedLoad, ...]:
    """Every load that may be planned with, also between those that were measured."""
    rows = _rows()
    predictor = Predictor(rows)
    times = predictor.predict(example.unseen())
    found = []
    for place, row in enumerate(rows):
        tpot, ttft = (
            Forecast(
                round(float(getattr(times, kind)[place]), digits),
                round(1 + error_band(kind, row).high, factor_digits),
                _measured_s(kind, row.clients),
            )
            for kind, digits, factor_digits in ROUNDED
        )
        answer_len = round(float(predictor.exposures[place].output_len), 1)
        found.append(PlannedLoad(row.clients, answer_len, tpot, ttft))
    return tuple(found)


def _rows() -> list[MeasuredRow]:
    """The example's settings: as measured, and all loads from 16 to 64 clients."""
    *_, few, _, most = (row.clients for row in example.rows())
    clients = {row.clients for row in example.rows()} | set(range(few, most))
    return [replace(example.rows()[-1], clients=each) for each in sorted(clients)]


def _measured_s(kind: Kind, clients: int) -> float | None:
    own = [row for row in example.rows() if row.clients == clients]
    return float(getattr(own[0], f"{kind}_s")) if own else None


@cache
def error_band(kind: Predicted, row: MeasuredRow) -> Band:
    """The band that a setting would get if its own server had never been measured.

    As :func:`llmserve_lab.validation.band`, from the nearest rows of other servers.
    """
    rows, error = near_rows(TIMES[kind], row)
    half = stretch(TIMES[kind]) * half_width(error)
    found = Band(expm1(-half), expm1(half), "rows of other servers", len(rows))
    return found.inverse() if kind.endswith("_per_s") else found


@cache
def near_rows(kind: Kind, row: MeasuredRow) -> tuple[tuple[MeasuredRow, ...], Floats]:
    """The rows of other servers nearest to a row's setting, and their errors."""
    rows, error = chosen(kind, "model")
    other = np.flatnonzero([each.server != row.server for each in rows])
    near = other[nearest(places(kind).at(other), Setting.of(row))]
    return tuple(rows[place] for place in near), error[near]


@cache
def places(kind: Kind) -> Places:
    """Where all rows of a kind lie."""
    return Places.of(chosen(kind, "model")[0])


def sorted_factors(number: int = 10) -> tuple[float, ...]:
    """Every so-many-th of the near rows' misses, in order: ``number`` of them.

    A miss is predicted over measured or its inverse, whichever is above one.
    """
    _, error = near_rows("tpot", example.rows()[3])
    factors = np.sort(np.exp(np.abs(np.log1p(error))))
    step = len(factors) // number
    return tuple(float(each) for each in factors[step - 1 :: step])


def near_band(rule: str) -> tuple[float, float]:
    """Ends of a band of predicted over measured, for the load that the text works.

    ``rule``: ``"plain"`` from the 5th to the 95th percentile of the nearest errors,
    ``"even"`` the factor that holds as many, ``"wide"`` its power, the book's.

    Raises:
        LookupError: there is no such rule.
    """
    _, error = near_rows("tpot", example.rows()[3])
    half = half_width(error)
    low, high = (1 + float(each) for each in np.percentile(error, TAILS))
    wide = stretch("tpot") * half
    found = {
        "plain": (low, high),
        "even": (float(np.exp(-half)), float(np.exp(half))),
        "wide": (float(np.exp(-wide)), float(np.exp(wide))),
    }
    key_of("rule", rule, found)
    return found[rule]


@cache
def engine_loads() -> tuple[PlannedLoad, ...]:
    """Every load with the factors of the engine's own near rows, to the slow side.

    The longest time is that which nineteen in twenty of the nearest rows that the same
    engine served stay below; nothing is stretched, since this engine was measured.
    """
    found = []
    for row, load in zip(_rows(), loads(), strict=True):
        tpot, ttft = (own_factor(kind, row, digits) for kind, _, digits in ROUNDED)
        found.append(load.at(tpot, ttft))
    return tuple(found)


def engine_known() -> PlannedLoad:
    """The most clients with which those times keep the promises."""
    return most_kept(engine_loads())


def most_kept(asked: Iterable[PlannedLoad]) -> PlannedLoad:
    """The load with the most clients of those that keep both promises.

    Raises:
        ValueError: not even the smallest load keeps them.
    """
    kept = [each for each in asked if each.keeps]
    if not kept:
        raise ValueError("asked must have a load that keeps the promises, got none")
    return kept[-1]


def n_own(clients: int) -> int:
    """How many of the rows nearest to the example the example's engine served."""
    row = replace(example.rows()[-1], clients=clients)
    return sum(each.engine == ENGINE for each in near_rows("tpot", row)[0])


def own_factor(kind: Kind, row: MeasuredRow, digits: int) -> float:
    """The factor that nineteen in twenty of the engine's nearest rows stay below."""
    rows, error = near_rows(kind, row)
    own = error[[each.engine == ENGINE for each in rows]]
    return round(1 / (1 + float(np.percentile(own, TAILS[0]))), digits)


def engine_plan_at(factor: float) -> PlannedLoad:
    """The engine's plan if one factor held at every load."""
    return most_kept(each.at(factor) for each in engine_loads())


def engine_neighbours() -> tuple[PlannedLoad, PlannedLoad]:
    """Loads near the engine's plan whose factors differ from its own.

    Two clients fewer, before the factor jumps; and the first with the largest factor.
    """
    found, plan = engine_loads(), engine_known()
    (fewer,) = (each for each in found if each.clients == plan.clients - 2)
    return fewer, max(found, key=lambda each: each.tpot.factor)


def power(kind: Kind) -> float:
    """The exponent to which the factor of the nearest errors is raised in a band."""
    return stretch(kind)


def hoped() -> PlannedLoad:
    """The most clients with which the predictions alone keep the promises."""
    return [each for each in loads() if each.hopes][-1]


def planned() -> PlannedLoad:
    """The most clients with which the worse ends keep them."""
    return most_kept(loads())


def servers(load: PlannedLoad, which: str) -> int:
    """Servers for all the tokens that are asked for, each under that load."""
    return ceil(ASKED_PER_S / load.tokens_per_s(which))
