"""A quantity lets through what it means, and says by name what it refuses, and why."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab import notation as q
from llmserve_lab.catalog import Cited
from llmserve_lab.formula.quantity import Coefficient, Quantity
from llmserve_lab.formula.units import units

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_what_is_in_range_comes_back_and_nothing_else(value: float) -> None:
    thing = Quantity("x", "byte", "a thing", minimum=-3.0, maximum=5.0, name="thing")
    if -3 <= value <= 5:
        assert float(thing.checked(value)) == value
    else:
        with pytest.raises(ValueError, match="thing must be at least -3 and at most 5"):
            thing.checked(value)


def test_a_share_of_two_equal_times_may_be_one_rounding_above_one() -> None:
    thing = Quantity("x", "dimensionless", "a share", maximum=1.0, name="share")
    assert float(thing.checked(np.nextafter(1.0, 2.0))) > 1
    with pytest.raises(ValueError, match="share must be at least 0 and at most 1"):
        thing.checked(1 + 1e-14)


@given(st.lists(finite.filter(lambda x: x > 0), min_size=1), st.data())
def test_one_bad_element_is_found_and_shown(good: list[float], data: Any) -> None:
    bad = data.draw(st.sampled_from([0.0, -1.5, math.nan, math.inf, -math.inf]))
    place = data.draw(st.integers(0, len(good)))
    shown = f"got {bad:g}$"
    with pytest.raises(ValueError, match=rf"batch must be (positive|finite), {shown}"):
        q.batch.checked([*good[:place], bad, *good[place:]])


@pytest.mark.parametrize(
    ("quantity", "value", "message"),
    [
        (q.batch, 0, "batch must be positive, got 0$"),
        (q.context, -1, "context must be at least 0, got -1$"),
        (q.eff_mem, 1.0000001, "eff_mem must be positive and at most 1, got 1.0000001"),
        (q.eff_mem, [0.5, 2], "eff_mem must be positive and at most 1, got 2$"),
        (q.batch, math.nan, "batch must be finite, got nan"),
        (q.batch, [1, math.inf], "batch must be finite, got inf"),
        (q.batch, 10**400, "batch must fit a float64 .* got about 1e400"),
        (q.batch, [1, 10**400], "batch must fit a float64"),
        (q.batch, [[1], [1, 2]], "batch must be a number or a rectangular array"),
        (q.n_layers, 2.5, "n_layers must be a whole number, got 2.5"),
        (q.n_layers, [32, 2.5], "n_layers must be a whole number, got 2.5"),
    ],
)
def test_a_bad_value_is_named_with_its_rule(
    quantity: Quantity, value: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        quantity.checked(value)


@pytest.mark.parametrize(
    "value",
    [None, True, "32", b"32", 1j, [True], [None, 1], ["1"], np.array([1, "a"], object),
     np.datetime64("2026-01-01"), np.array([True, 2], object), {}],
)  # fmt: skip
def test_what_is_no_number_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match=r"batch must be a real number, got "):
        q.batch.checked(value)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64, np.float16, object])
def test_any_kind_of_number_becomes_float64(dtype: Any) -> None:
    checked = q.batch.checked(np.array([1, 2, 100], dtype=dtype))
    assert checked.dtype == np.float64
    assert checked.tolist() == [1.0, 2.0, 100.0]


def test_a_mask_is_not_taken_off_in_silence() -> None:
    masked = np.ma.masked_array([1.0, -1.0], mask=[False, True])
    with pytest.raises(TypeError, match="batch must be an array without a mask"):
        q.batch.checked(masked)


def test_large_integers_do_not_wrap_around() -> None:
    edge = np.array([2**63 - 1, 2**62], dtype=np.int64)
    assert q.batch.checked(edge).tolist() == [2.0**63, 2.0**62]
    assert float(q.batch.checked(10**300)) == 1e300
    assert q.batch.checked([2**70, 1]).tolist() == [2.0**70, 1.0]


def test_an_integer_too_long_to_print_is_refused_all_the_same() -> None:
    with pytest.raises(ValueError, match=r"batch must fit a float64 .* about 1e5000"):
        q.batch.checked(-(10**5000))


def test_fractions_are_numbers_too() -> None:
    assert float(q.eff_mem.checked(Fraction(1, 4))) == 0.25


def test_an_empty_array_has_no_bad_element() -> None:
    assert q.batch.checked([]).shape == (0,)
    assert q.batch.checked(np.empty((3, 0))).shape == (3, 0)


@pytest.mark.parametrize(
    ("value", "unit", "bytes_per_s"),
    [
        (3.35, "TB/s", 3.35e12),
        (900, "GB/s", 900e9),
        (900, "GiB/s", 900 * 1024**3),
        (400, "Gbit/s", 50e9),
        (60, "byte/min", 1),
        ([1, 2], "kB/s", [1e3, 2e3]),
    ],
)
def test_a_multiple_of_the_unit_is_converted(
    value: Any, unit: str, bytes_per_s: Any
) -> None:
    pint = units().Quantity(np.asarray(value), unit)
    assert q.hbm_bw.checked(pint) == pytest.approx(np.asarray(bytes_per_s))
    if isinstance(value, int | float):
        record = Cited(value, unit, "datasheet", "somebody")
        assert float(q.hbm_bw.checked(record)) == pytest.approx(bytes_per_s)


def test_a_gibibyte_is_not_a_gigabyte() -> None:
    decimal, binary = (Cited(1, u, "paper", "x") for u in ("GB/s", "GiB/s"))
    ratio = q.hbm_bw.checked(binary) / q.hbm_bw.checked(decimal)
    assert float(ratio) == pytest.approx(1.073741824)


@pytest.mark.parametrize("unit", ["byte", "FLOP/s", "token/s", "dimensionless"])
def test_a_foreign_unit_is_refused(unit: str) -> None:
    message = f"hbm_bw must be in byte/s .or a multiple., got {unit}"
    with pytest.raises(ValueError, match=message):
        q.hbm_bw.checked(Cited(1.0, unit, "paper", "somebody"))


@pytest.mark.parametrize("unit", ["furlong", "byte/", "(", "3 byte/s"])
def test_a_unit_that_nobody_knows_is_refused(unit: str) -> None:
    with pytest.raises(ValueError, match="hbm_bw has a unit the book does not know: "):
        q.hbm_bw.checked(Cited(1.0, unit, "paper", "somebody"))


def test_a_value_is_checked_after_it_was_converted() -> None:
    with pytest.raises(ValueError, match="hbm_bw must fit a float64"):
        q.hbm_bw.checked(units().Quantity(10**400, "GB/s"))
    with pytest.raises(ValueError, match="hbm_bw must be finite, got inf"):
        q.hbm_bw.checked(units().Quantity(1e300, "PB/ns"))


def test_a_coefficient_is_a_quantity_with_its_value() -> None:
    two = Coefficient("2", "FLOP/(parameter*token)", "two", value=2.0, name="two")
    assert float(two.checked(two)) == 2.0


def test_symbols_know_the_sign_of_what_they_stand_for() -> None:
    assert q.batch.sympy.is_positive
    assert q.context.sympy.is_nonnegative and not q.context.sympy.is_positive
    either = Quantity("x", "s", "of either sign", minimum=-math.inf, name="either")
    assert either.sympy.is_real and either.sympy.is_nonnegative is None
