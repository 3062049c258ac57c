"""A token is not a request, and a GiB not a GB."""

import math

import pytest

from llmserve_lab.formula.units import convert, units

BASE = ["s", "byte", "FLOP", "token", "request", "parameter", "element", "layer",
        "head", "pair", "device", "iteration", "dollar"]  # fmt: skip


@pytest.mark.parametrize("unit", BASE)
def test_every_thing_counted_is_a_dimension_of_its_own(unit: str) -> None:
    for other in BASE:
        compatible = units().Unit(unit).is_compatible_with(other)
        assert compatible == (unit == other)


@pytest.mark.parametrize(
    ("one", "base", "factor"),
    [
        ("kB", "byte", 1e3),
        ("MB", "byte", 1e6),
        ("GB", "byte", 1e9),
        ("TB", "byte", 1e12),
        ("PB", "byte", 1e15),
        ("KiB", "byte", 2**10),
        ("MiB", "byte", 2**20),
        ("GiB", "byte", 2**30),
        ("TiB", "byte", 2**40),
        ("Gbit", "byte", 1e9 / 8),
        ("ms", "s", 1e-3),
        ("us", "s", 1e-6),
        ("µs", "s", 1e-6),
        ("ns", "s", 1e-9),
        ("hour", "s", 3600),
        ("TFLOP/s", "FLOP/s", 1e12),
    ],
)
def test_prefixes_and_multiples(one: str, base: str, factor: float) -> None:
    assert convert(1.0, one, to=base, what="it") == pytest.approx(factor, rel=1e-15)


def test_there_and_back() -> None:
    for unit in ("GB/s", "GiB/hour", "bit/ms"):
        there = convert(math.pi, "byte/s", to=unit, what="it")
        assert convert(there, unit, to="byte/s", what="it") == pytest.approx(math.pi)


def test_errors_name_what_was_converted() -> None:
    with pytest.raises(ValueError, match=r"the answer must be in s .*, got byte"):
        convert(1.0, "byte", to="s", what="the answer")
    with pytest.raises(ValueError, match="the answer has a unit the book does not kno"):
        convert(1.0, "parsec", to="s", what="the answer")


def test_there_is_one_registry() -> None:
    assert units() is units()
