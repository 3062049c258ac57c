"""A cited number is checked when it is written down, and offers no arithmetic."""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass
from functools import cache
from importlib import import_module
from operator import add, mul, truediv
from typing import Any

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.records.cited import KINDS, Cited, fraction
from llmserve_lab.formula.units import units

BANDWIDTH = Cited(3.35e12, "byte/s", "datasheet", "a datasheet")


def cited_in(thing: Any) -> Iterator[Cited]:
    """Every cited number reachable from ``thing``."""
    if isinstance(thing, Cited):
        yield thing
    elif isinstance(thing, catalog.Undisclosed):
        yield from cited_in(thing.fitted)
    elif isinstance(thing, Mapping):
        for value in thing.values():
            yield from cited_in(value)
    elif isinstance(thing, tuple):
        for value in thing:
            yield from cited_in(value)
    elif is_dataclass(thing) and not isinstance(thing, type):
        for field in fields(thing):
            yield from cited_in(getattr(thing, field.name))


@cache
def everything() -> list[Cited]:
    """Every cited number that a name of the catalog's modules leads to, each once."""
    found = pkgutil.walk_packages(catalog.__path__, f"{catalog.__name__}.")
    modules = [import_module(each.name) for each in found]
    cited_ones = [
        cited
        for module in modules
        for name, value in vars(module).items()
        if not name.startswith("__")
        for cited in cited_in(value)
    ]
    return list({id(cited): cited for cited in cited_ones}.values())


def test_the_catalog_cites_every_kind_of_evidence() -> None:
    found = everything()
    assert len(found) > 250
    assert {cited.kind for cited in found} == set(KINDS)


def test_every_unit_is_one_that_the_book_knows() -> None:
    for unit in {cited.unit for cited in everything()} - {"dimensionless"}:
        seconds = unit.replace("cycle", "s")  # a cycle is a time, on a clock of its own
        assert units()(seconds).magnitude == 1, unit


def test_every_cited_value_is_positive_and_says_who_says_so() -> None:
    for cited in everything():
        # A difference of two readings may fall below zero; its note then has the sign.
        assert float(cited) > 0 or cited.note.startswith("-"), cited
        assert len(cited.source) > len("IEEE"), cited


@pytest.mark.parametrize("value", [np.float32(2), np.float64(2), np.int64(2), 2])
def test_a_number_of_numpy_is_a_number(value: Any) -> None:
    cited = Cited(value, "byte", "convention", "us")
    assert (type(cited.value), cited.value) == (float, 2.0)


def test_float_is_the_only_way_out() -> None:
    assert float(BANDWIDTH) == 3.35e12
    assert isinstance(Cited(8, "byte", "convention", "us").value, float)
    anything: Any = BANDWIDTH
    for operate in (mul, add, truediv):
        with pytest.raises(TypeError):
            operate(anything, 2.0)
    with pytest.raises(FrozenInstanceError):
        anything.value = 1.0


def test_it_prints_as_a_reader_sees_it() -> None:
    assert str(BANDWIDTH) == "3.35 TB/s (datasheet: a datasheet)"
    assert Cited(1.23456e12, "byte/s", "paper", "a paper").shown() == "1.2346 TB/s"
    peak = catalog.accelerator("h100-sxm").peak("fp8")
    assert str(peak).startswith("1.9789 PFLOP/s (datasheet: NVIDIA H100")
    assert peak.shown(digits=3) == "1.98 PFLOP/s"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"value": math.nan}, ValueError, "value must be finite, got nan"),
        ({"value": math.inf}, ValueError, "value must be finite, got inf"),
        ({"value": "3"}, TypeError, "value must be a real number, got '3'"),
        ({"value": True}, TypeError, "value must be a real number, got True"),
        ({"value": np.bool_(True)}, TypeError, "value must be a real number"),
        ({"value": 1j}, TypeError, "value must be a real number, got 1j"),
        ({"kind": "rumour"}, ValueError, "kind must be one of .*got 'rumour'"),
        ({"unit": " "}, ValueError, "unit must say something"),
        ({"source": ""}, ValueError, "source must say something"),
    ],
)
def test_a_number_that_cannot_be_cited_is_refused(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    good: dict[str, Any] = {
        "value": 1.0,
        "unit": "byte",
        "kind": "paper",
        "source": "a paper",
    }
    with pytest.raises(error, match=message):
        Cited(**good | change)


def test_a_fraction_is_dimensionless_and_keeps_its_source() -> None:
    half = Cited(1.675e12, "byte/s", "measured", "a run", "at night")
    share = fraction(half, BANDWIDTH)
    assert (float(share), share.unit) == (0.5, "dimensionless")
    assert (share.kind, share.source, share.note) == ("measured", "a run", "at night")
    assert fraction(half, BANDWIDTH, note="by day").note == "by day"
    assert float(fraction(BANDWIDTH, BANDWIDTH)) == 1


def test_a_fraction_above_one_or_of_two_units_is_refused() -> None:
    with pytest.raises(ValueError, match=r"part / whole must lie in \(0, 1\], got 2"):
        fraction(BANDWIDTH, Cited(1.675e12, "byte/s", "paper", "a paper"))
    with pytest.raises(ValueError, match=r"part must be in FLOP/s.*got byte/s"):
        fraction(BANDWIDTH, Cited(1e15, "FLOP/s", "paper", "a paper"))
    with pytest.raises(ValueError, match=r"must lie in \(0, 1\], got 0"):
        fraction(Cited(0, "byte/s", "paper", "a paper"), BANDWIDTH)
