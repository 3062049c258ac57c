"""What is expensive to compute and stands in a record; the deep tests compute it again.

Errors of every measured row with one label left out, what each fold fitted, and the
scores of the model with some of its terms switched off.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from llmserve_lab.checks import key_of
from llmserve_lab.validation import DATASHEET, ServingConstants, constants
from llmserve_lab.validation.intervals import Interval, mean_interval
from llmserve_lab.validation.prediction import KINDS, Kind
from llmserve_lab.validation.rows import MeasuredRow, dense_rows
from llmserve_lab.validation.unit_work import Floats

RECORD = Path(__file__).parent / "data" / "record.json"
PLACES = 1e-4  # errors are stored as whole ten-thousandths
FOLDS = ("model", "system", "engine", "precision")  # labels that are left out in turn
SERVER = "server"  # left out as well, but no constants of its folds are kept
ALL_SEEN, SHEET = "nothing", "datasheet"  # fitted to all rows; fitted to none
ENOUGH = 10  # servers: the bootstrap of fewer gives an interval that is too narrow
# Terms that can be taken back to what a datasheet promises, each with its constants.
SWITCHES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "shares": ("compute", "memory", "exponent", "overlap"),
        "link": ("link",),
        "layers": ("layer_s", "prompt_layers"),
        "requests": ("request_s",),
        "client": ("client_s",),
    }
)


@cache
def record() -> Mapping[str, Any]:
    """The record, as it is stored."""
    found: Mapping[str, Any] = json.loads(RECORD.read_text("utf8"))
    return found


def validated() -> Mapping[str, Any]:
    """What the validation wrote down of the fit: scores, ladder, other forms."""
    return constants.record()


def switched(reached: ServingConstants, on: Sequence[int]) -> ServingConstants:
    """A machine with only those terms that are on; the others as in the datasheet."""
    values: dict[str, Any] = {
        name: getattr(DATASHEET, name)
        for names, kept in zip(SWITCHES.values(), on, strict=True)
        for name in names
        if not kept
    }
    return replace(reached, **values)


def row_errors(kind: Kind, left_out: str) -> Floats:
    """Signed relative errors of all rows, [rows]: predicted / measured − 1.

    Raises:
        LookupError: there is no such kind of time, or nothing of that name is left out.
    """
    key_of("kind", kind, KINDS)
    known = record()["errors"]
    key_of("left_out", left_out, known)
    return PLACES * np.array(known[left_out][kind], dtype=np.float64)


def scored(kind: Kind) -> tuple[int, ...]:
    """Places of the rows that a kind is scored on: TTFT needs a public protocol."""
    rows = enumerate(dense_rows())
    return tuple(place for place, row in rows if row.public or kind != "ttft")


def chosen(kind: Kind, left_out: str) -> tuple[tuple[MeasuredRow, ...], Floats]:
    """The rows that a kind is scored on, and their errors."""
    places = list(scored(kind))
    rows = tuple(dense_rows()[place] for place in places)
    return rows, row_errors(kind, left_out)[places]


def mean_error(kind: Kind, left_out: str) -> float:
    """Mean absolute percentage error, as a share."""
    return float(np.abs(chosen(kind, left_out)[1]).mean())


def bias(kind: Kind, left_out: str) -> float:
    """Mean of the signed errors."""
    return float(chosen(kind, left_out)[1].mean())


def median_error(kind: Kind, left_out: str) -> float:
    """Median of the absolute errors."""
    return float(np.median(np.abs(chosen(kind, left_out)[1])))


def ends_of(size: Floats, rows: Sequence[MeasuredRow]) -> Interval | None:
    """Interval of the mean of some sizes of errors, servers drawn; of few servers none.

    All rows of a server are drawn together, whatever their lengths and clients.
    """
    server = np.array([row.server for row in rows])
    return mean_interval(size, server) if len(set(server)) >= ENOUGH else None


@cache
def mean_ends(kind: Kind, left_out: str) -> Interval:
    """Interval of a mean absolute percentage error, as shares."""
    rows, error = chosen(kind, left_out)
    found = ends_of(np.abs(error), rows)
    assert found is not None
    return found


def switched_ends(on: str, place: int) -> Interval:
    """Interval of a mean error with those switches on; TPOT is at 0 and TTFT at 1."""
    key_of("place", place, range(2))
    low, high = record()["switches"][on][2 + 2 * place : 4 + 2 * place]
    return Interval(low, high)


Switched = tuple[float, Interval]  # a mean error


@dataclass(frozen=True)
class SwitchedErrors:
    """Mean errors with a term as fitted alone, and of TPOT and TTFT without it."""

    alone: Switched
    tpot: Switched
    ttft: Switched


def switched_errors(place: int) -> SwitchedErrors:
    """Those of the switch at ``place``; beyond the last, with nothing taken away."""
    off = record()["switches"]

    def found(key: str, which: int) -> Switched:
        return off[key][which], switched_ends(key, which)

    places = range(len(SWITCHES))
    without, alone = (
        "".join(str(int((i == place) == kept)) for i in places)
        for kept in (False, True)
    )
    return SwitchedErrors(found(alone, 0), found(without, 0), found(without, 1))
