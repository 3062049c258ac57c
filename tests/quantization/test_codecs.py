"""Every code and many values, beside ``ml_dtypes``, which others maintain."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.quantization.codecs import (
    BF16,
    E2M1,
    E4M3,
    E5M2,
    FORMATS,
    FP16,
    INT4,
    INT8,
    FloatFormat,
    IntFormat,
    number_format,
    power_of_two_codes,
    powers_of_two,
)

FLOATS: dict[FloatFormat, Any] = {
    FP16: np.float16,
    BF16: ml_dtypes.bfloat16,
    E4M3: ml_dtypes.float8_e4m3fn,
    E5M2: ml_dtypes.float8_e5m2,
    E2M1: ml_dtypes.float4_e2m1fn,
}
SMALL = [E4M3, E5M2, E2M1]
INTS = {INT8: np.int8, INT4: ml_dtypes.int4}


def named(each: FloatFormat | IntFormat) -> str:
    return each.name


def theirs(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Codes as ml_dtypes casts float32 numbers."""
    with np.errstate(all="ignore"):
        cast = x.astype(dtype)
    kind = np.uint16 if cast.dtype.itemsize == 2 else np.uint8
    return cast.view(kind).astype(np.uint16)


def edges(each: FloatFormat) -> np.ndarray:
    """All finite numbers, all middles between neighbours, and one step beside them."""
    numbers = each.numbers() if each.bits < 16 else each.numbers()[::97]
    points = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2])
    with np.errstate(all="ignore"):
        points = points.astype(np.float32)
    beside = [np.nextafter(points, np.float32(way)) for way in (-np.inf, np.inf)]
    limits = np.array(
        [-0.0, each.largest * 0.99, each.largest, 3e38, 1e-45], np.float32
    )
    found = np.concatenate([points, *beside, limits, -limits])
    return np.asarray(found[np.isfinite(found)])


@pytest.mark.parametrize("each", FLOATS, ids=named)
def test_every_code_means_the_same_number(each: FloatFormat) -> None:
    codes = np.arange(2**each.bits)
    kind = np.uint16 if each.bits == 16 else np.uint8
    with np.errstate(all="ignore"):
        expected = codes.astype(kind).view(FLOATS[each]).astype(np.float64)
    np.testing.assert_array_equal(each.decode(codes), expected)
    signs = np.signbit(each.decode(codes)) == np.signbit(expected)
    assert signs[~np.isnan(expected)].all()


@pytest.mark.parametrize("each", FLOATS, ids=named)
def test_ties_subnormals_and_what_overflows_get_the_same_code(
    each: FloatFormat,
) -> None:
    x = edges(each)
    np.testing.assert_array_equal(
        each.encode(x, saturate=False), theirs(x, FLOATS[each])
    )


@pytest.mark.parametrize("each", FLOATS, ids=named)
def test_random_bit_patterns_get_the_same_code(each: FloatFormat) -> None:
    patterns = np.random.default_rng(7).integers(0, 2**32, size=50_000, dtype=np.uint32)
    usual = np.random.default_rng(8).normal(size=50_000).astype(np.float32)
    x = np.concatenate([patterns.view(np.float32), usual])
    x = x[np.isfinite(x)]
    np.testing.assert_array_equal(
        each.encode(x, saturate=False), theirs(x, FLOATS[each])
    )


@pytest.mark.parametrize("each", FLOATS, ids=named)
@given(x=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_any_float_gets_the_same_code(each: FloatFormat, x: float) -> None:
    value = np.array([x], np.float32)
    assert each.encode(value, saturate=False) == theirs(value, FLOATS[each])


@pytest.mark.parametrize("each", FLOATS, ids=named)
@given(x=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_rounding_is_to_the_nearest_number_and_saturates(
    each: FloatFormat, x: float
) -> None:
    found = float(each.nearest(x))
    limited = min(max(x, -each.largest), each.largest)
    if each.bits == 16:
        assert abs(found - limited) <= abs(limited) * 2.0**-each.mantissa_bits + 1e-7
        return
    assert abs(found - limited) == np.abs(each.numbers() - limited).min()


@pytest.mark.parametrize("each", INTS, ids=named)
def test_every_integer_code_is_twos_complement(each: IntFormat) -> None:
    codes = np.arange(2**each.bits)
    signed = codes - 2**each.bits * (codes >= 2 ** (each.bits - 1))
    cast = signed.astype(INTS[each])
    np.testing.assert_array_equal(each.decode(codes), cast.astype(np.float64))
    used = each.numbers()
    pattern = used.astype(INTS[each]).view(np.uint8) & (2**each.bits - 1)
    np.testing.assert_array_equal(each.encode(used), pattern)
    assert float(each.nearest(2.5)) == 2 and float(each.nearest(-1e9)) == -each.largest


def test_every_power_of_two_has_the_code_of_e8m0() -> None:
    codes = np.arange(256)
    expected = codes.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)
    np.testing.assert_array_equal(powers_of_two(codes), expected.astype(np.float64))
    exact = powers_of_two(codes[:-1]).astype(np.float32)
    found = exact.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8)
    np.testing.assert_array_equal(power_of_two_codes(exact), found)
    assert power_of_two_codes(7.9) == power_of_two_codes(4.0)


def test_the_largest_numbers_are_the_published_ones() -> None:
    largest = {each.name: each.largest for each in FORMATS.values()}
    assert largest["FP8 E4M3"] == 448 and largest["FP8 E5M2"] == 57344
    assert largest["FP4 E2M1"] == 6 and largest["FP16"] == 65504
    assert E2M1.numbers().tolist()[7:] == [0, 0.5, 1, 1.5, 2, 3, 4, 6]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("each", FORMATS.values(), ids=named)
def test_what_is_no_number_is_refused(
    each: FloatFormat | IntFormat, odd: float
) -> None:
    with pytest.raises(ValueError, match=rf"x must be finite, got {odd} at \(1,\)"):
        each.encode([1.0, odd])


@pytest.mark.parametrize("odd", [0.0, -1.0])
def test_a_power_of_two_for_zero_is_refused(odd: float) -> None:
    with pytest.raises(ValueError, match=f"x must be positive, got {odd:g}"):
        power_of_two_codes([1.0, odd])
    with pytest.raises(ValueError, match="x must have a power of two in E8M0"):
        power_of_two_codes(1e-300)


def test_an_unknown_format_is_refused() -> None:
    assert number_format("e4m3") is E4M3
    with pytest.raises(ValueError, match=r"key must be one of fp16, .*, got 'fp7'"):
        number_format("fp7")
