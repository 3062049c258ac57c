"""Factors of the bands, each tested without what it was made from.

A factor read off some rows holds those rows well, whatever it is worth. So the rows of
a name are scored by a power that was chosen without that name, and the rows of a server
by a factor made from other servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from llmserve_lab.checks import UnknownKeyError
from llmserve_lab.how_wrong import decision, example
from llmserve_lab.how_wrong.record import chosen, record, validated
from llmserve_lab.validation import Setting
from llmserve_lab.validation.bands import INSIDE, TAILS, half_width, nearest
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.unit_work import Floats

Rule = Literal["prediction", "engine", "band"]  # what a plan multiplies with
AT = 3  # the example's row that the text works by hand


def nested_power(by: str, kind: Kind, name: str) -> float:
    """The power of a band, chosen while all rows of a name were away.

    Raises:
        LookupError: without that name too little remains to choose by.
    """
    return _nested(by, kind, name)[0]


def nested_held(by: str, kind: Kind, name: str | None = None) -> float:
    """Share of rows in bands whose power was chosen without their name.

    Of one name, or of all rows with a label's names for which there is one.
    """
    tried = validated()["coverage"]["tried"][by][kind]
    names = [name] if name else [each for each in tried if _known(by, kind, each)]
    inside = [tried[each][0] * _nested(by, kind, each)[1] for each in names]
    return float(sum(inside) / sum(tried[each][0] for each in names))


def _known(by: str, kind: Kind, name: str) -> bool:
    return kind in record()["nested"][by].get(name, {})


def _nested(by: str, kind: Kind, name: str) -> tuple[float, float]:
    if not _known(by, kind, name):
        raise UnknownKeyError(
            f"name must be one without which a power can be chosen, got {name!r}"
        )
    power, held = record()["nested"][by][name][kind]
    return power, held


@cache
def beyond(rule: Rule, kind: Kind = "tpot") -> Floats:
    """Measured time over the longest that a rule allows, of the engine's rows.

    Rows with a public script, the model left out of the constants. The factor of a row
    is made from the nearest rows of *other* servers, and the power of the band is the
    one chosen without the engine. Above 1 the row was slower than the rule allows.
    """
    rows, error = chosen(kind, "model")
    server = np.array([row.server for row in rows])
    places = decision.places(kind)
    found = []
    for place, row in enumerate(rows):
        if not row.public or row.engine != decision.ENGINE:
            continue
        other = np.flatnonzero(server != row.server)
        near = other[nearest(places.at(other), Setting.of(row))]
        alike = [rows[each].engine == decision.ENGINE for each in near]
        found.append(1 / (1 + error[place]) / _factor(rule, kind, error[near], alike))
    return np.array(found)


def _factor(rule: Rule, kind: Kind, error: Floats, alike: list[bool]) -> float:
    """What a rule multiplies a prediction with, from the nearest errors."""
    if rule == "prediction":
        return 1.0
    if rule == "engine":
        return float(1 / (1 + np.percentile(error[alike], TAILS[0])))
    power = nested_power("engine", kind, decision.ENGINE)
    return float(np.exp(power * half_width(error)))


def risk(rule: Rule, slack: float = 1.0, *, kind: Kind = "tpot") -> float:
    """Share of the engine's rows that were slower than a rule allows.

    ``slack`` is by how much the plan's longest time stays below the promise.
    """
    return float((beyond(rule, kind) > slack).mean())


@dataclass(frozen=True)
class FactorCase:
    """What is new about a server, the factors to plan with, and what such ones held.

    The factors are those for the example's load. ``promised`` is the share that they
    are made to hold, ``held`` what they held of rows that did not make them; of TPOT
    and of TTFT. ``names`` are the shares by the name that was left out, of both.
    """

    new: str
    rule: str
    factors: tuple[float, float]
    promised: float
    held: tuple[float | None, float | None]
    names: tuple[Mapping[str, float], Mapping[str, float]] = ({}, {})


KINDS: tuple[Kind, Kind] = ("tpot", "ttft")


def cases() -> tuple[FactorCase, ...]:
    """Nothing is new about a server; or its engine, its model, or its kind of GPU."""
    row = example.rows()[AT]
    load = next(each for each in decision.loads() if each.clients == row.clients)
    own_tpot, own_ttft = (decision.own_factor(kind, row, 3) for kind in KINDS)
    engine_tpot, engine_ttft = (1 - risk("engine", kind=kind) for kind in KINDS)
    known = FactorCase(
        "only the server",
        "its engine’s near rows",
        (own_tpot, own_ttft),
        1 - TAILS[0] / 100,
        (engine_tpot, engine_ttft),
    )
    return known, *(_new(by, words, load) for by, words in NEW.items())


NEW = {"engine": "the engine", "model": "the model", "system": "the kind of GPU"}


def _new(by: str, words: str, load: decision.PlannedLoad) -> FactorCase:
    """Something was never measured: the book's band, and what was held without it."""
    tpot, ttft = (held_by_name(by, kind) for kind in KINDS)
    return FactorCase(
        words,
        "book’s band",
        (load.tpot.factor, load.ttft.factor),
        INSIDE,
        (
            nested_held(by, "tpot") if tpot else None,
            nested_held(by, "ttft") if ttft else None,
        ),
        (tpot, ttft),
    )


def held_by_name(by: str, kind: Kind) -> dict[str, float]:
    """Of each name that can be left out: the share of its rows that were held."""
    names = [name for name in record()["nested"][by] if _known(by, kind, name)]
    return {name: nested_held(by, kind, name) for name in names}


def least_held(kind: Kind) -> tuple[float, str]:
    """The name of which bands held least, their power chosen without it, and how much.

    Of models, engines and kinds of GPU.
    """
    return min(
        (nested_held(by, kind, name), name)
        for by, names in record()["nested"].items()
        for name in names
        if _known(by, kind, name)
    )
