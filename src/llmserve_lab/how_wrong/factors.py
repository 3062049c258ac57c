"""Factors of the bands, each tested without what it was made from.

A factor read off some rows holds those rows well, whatever it is worth. So the rows of
a name are scored by a power that was chosen without that name, and the rows of a server
by a factor made from other servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from llmserve_lab.checks import UnknownKeyError
from llmserve_lab.how_wrong import decision, example, fairness
from llmserve_lab.how_wrong.record import chosen, record, validated
from llmserve_lab.validation import Setting
from llmserve_lab.validation.bands import TAILS, half_width, logs, nearest
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
def beyond(rule: Rule) -> Floats:
    """Measured time over the longest that a rule allows, of the engine's rows.

    Rows with a public script, the model left out of the constants. The factor of a row
    is made from the nearest rows of *other* servers, and the power of the band is the
    one chosen without the engine. Above 1 the row was slower than the rule allows.
    """
    rows, error = chosen("tpot", "model")
    server = np.array([row.server for row in rows])
    numbers = np.array([logs(Setting.of(row)) for row in rows])
    found = []
    for place, row in enumerate(rows):
        if not row.public or row.engine != decision.ENGINE:
            continue
        other = np.flatnonzero(server != row.server)
        known = [rows[each] for each in other]
        near = other[nearest(known, numbers[other], Setting.of(row))]
        alike = [rows[each].engine == decision.ENGINE for each in near]
        found.append(1 / (1 + error[place]) / _factor(rule, error[near], alike))
    return np.array(found)


def _factor(rule: Rule, error: Floats, alike: list[bool]) -> float:
    """What a rule multiplies a prediction with, from the nearest errors."""
    if rule == "prediction":
        return 1.0
    if rule == "engine":
        return float(1 / (1 + np.percentile(error[alike], TAILS[0])))
    power = nested_power("engine", "tpot", decision.ENGINE)
    return float(np.exp(power * half_width(error)))


def risk(rule: Rule, slack: float = 1.0) -> float:
    """Share of the engine's rows that were slower than a rule allows.

    ``slack`` is by how much the plan's longest time stays below the promise.
    """
    return float((beyond(rule) > slack).mean())


@dataclass(frozen=True)
class Tested:
    """Factors for the example's server by one rule, and what that very rule held.

    Two powers are the least and the greatest that were chosen, and so are the factors.
    """

    name: str
    powers: tuple[float, ...]
    factors: tuple[float, ...]
    test: str
    held: float
    in_sample: bool = False


def tested() -> tuple[Tested, ...]:
    """The factors that the chapter speaks of, for the load that the text works.

    A line's factor has the power that was scored, and its share is of that power.
    """
    row = example.rows()[AT]
    load = next(each for each in decision.loads() if each.clients == row.clients)
    power = decision.power("tpot")
    even = load.tpot.factor ** (1 / power)
    chosen_again = [
        nested_power("engine", "tpot", name) for name in record()["nested"]["engine"]
    ]
    ends = (min(chosen_again), max(chosen_again))
    alone = nested_power("model", "tpot", example.MODEL)
    others = (1 + decision.without_the_model(row).high) ** (1 / power)
    known = decision.own_factor("tpot", row, 3)
    held = nested_held("model", "tpot", example.MODEL)
    return (
        Tested("near rows", (), (even,), "servers of the 70B", _near_held()),
        Tested("near rows", (), (even,), "engines", _even()),
        Tested(
            "near rows",
            ends,
            tuple(even**each for each in ends),
            "engines",
            nested_held("engine", "tpot"),
        ),
        Tested(
            "book’s band",
            (power,),
            (load.tpot.factor,),
            "engines",
            fairness.covered("engine", "tpot"),
            in_sample=True,
        ),
        Tested("no 70B rows", (alone,), (others**alone,), "the 70B", held),
        Tested("vLLM’s rows", (), (known,), "servers of vLLM", 1 - risk("engine")),
    )


def nested_shares(kind: Kind) -> list[float]:
    """What bands held of each name, their power chosen without it."""
    return [
        nested_held(by, kind, name)
        for by, names in record()["nested"].items()
        for name in names
        if _known(by, kind, name)
    ]


def _near_held() -> float:
    return fairness.used_bands_held(example.MODEL)


def _even() -> float:
    return fairness.covered("engine", "tpot", rule="even")


def near_servers() -> tuple[int, int]:
    """Servers among the nearest rows of the load that the text works, and rows."""
    rows, _ = decision.near_rows("tpot", example.rows()[AT])
    return len({row.server for row in rows}), len(rows)
