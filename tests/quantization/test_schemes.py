"""Groups and scales beside independent models of NVFP4, MXFP4 and INT4."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.quantization.schemes import (
    SCHEMES,
    Scheme,
    quantize,
    relative_error,
    round_with,
    scheme,
)

GRID = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
RNG = np.random.default_rng(16)


def drawn(rows: int = 5, width: int = 256) -> np.ndarray:
    return RNG.standard_normal((rows, width)) * np.exp(RNG.normal(size=(rows, 1)))


def test_nvfp4_is_what_its_description_says_written_as_loops() -> None:
    x = drawn()
    tensor = np.float32(np.abs(x).max() / (6 * 448))
    found = quantize(x, SCHEMES["nvfp4"])
    for row in range(len(x)):
        for block in range(x.shape[1] // 16):
            part = x[row, 16 * block : 16 * block + 16]
            wanted = np.float32(np.abs(part).max() / 6 / float(tensor))
            scale = float(wanted.astype(ml_dtypes.float8_e4m3fn)) * float(tensor)
            assert found.scales[row, block] == scale
            codes = (part / scale).astype(np.float32).astype(ml_dtypes.float4_e2m1fn)
            at = slice(16 * block, 16 * block + 16)
            np.testing.assert_array_equal(found.codes[row, at], codes.view(np.uint8))


def test_mxfp4_scales_are_powers_of_two_that_bring_the_largest_to_four_and_more() -> (
    None
):
    x = drawn()
    found = quantize(x, SCHEMES["mxfp4"])
    largest = np.abs(x).reshape(len(x), -1, 32).max(axis=-1) / found.scales
    assert np.all((largest >= 4) & (largest < 8))
    assert np.all(np.log2(found.scales) == np.round(np.log2(found.scales)))
    nearest = np.abs(np.abs(x / np.repeat(found.scales, 32, axis=1))[..., None] - GRID)
    np.testing.assert_array_equal(np.abs(found.values), GRID[nearest.argmin(axis=-1)])


@pytest.mark.parametrize("key", ["int8", "int4", "int4-32", "int4-row"])
def test_an_integer_is_off_by_half_a_scale_at_most(key: str) -> None:
    x = drawn()
    found = quantize(x, SCHEMES[key])
    width = x.shape[1] // found.scales.shape[1]
    steps = np.abs(x - found.dequantize()) / np.repeat(found.scales, width, axis=1)
    assert steps.max() <= 0.5 + 0.01  # a scale in 16 bits is itself rounded


@pytest.mark.parametrize("key", SCHEMES)
def test_what_is_quantized_stays_as_it_is_when_quantized_again(key: str) -> None:
    once = quantize(drawn(), SCHEMES[key]).dequantize()
    again = quantize(once, SCHEMES[key]).dequantize()
    np.testing.assert_allclose(again, once, rtol=2e-3)


@pytest.mark.parametrize("key", SCHEMES)
def test_zeros_stay_zeros(key: str) -> None:
    x = drawn()
    x[:, :128] = 0
    rounded = quantize(x, SCHEMES[key]).dequantize()
    assert not rounded[:, :128].any() and np.isfinite(rounded).all()
    assert not quantize(np.zeros((2, 128)), SCHEMES[key]).dequantize().any()


@given(power=st.integers(-6, 6), key=st.sampled_from(["int8", "fp8", "mxfp4"]))
def test_a_power_of_two_in_front_changes_no_code(power: int, key: str) -> None:
    x = np.random.default_rng(3).standard_normal((2, 64))
    one, other = (quantize(x * 2.0**p, SCHEMES[key]) for p in (0, power))
    np.testing.assert_array_equal(one.codes, other.codes)


def test_more_bits_and_finer_groups_err_less() -> None:
    x = RNG.standard_normal((64, 512))
    errors = {
        key: relative_error(x, quantize(x, each).dequantize())
        for key, each in SCHEMES.items()
    }
    order = ["fp16", "bf16", "int8", "fp8", "fp8-e5m2", "int4-32", "int4", "int4-row"]
    assert [errors[key] for key in order] == sorted(errors[key] for key in order)
    assert errors["nvfp4"] < errors["mxfp4"]


def test_bits_of_a_number_count_its_share_of_the_scale() -> None:
    bits = {key: each.bits_per_number(4096) for key, each in SCHEMES.items()}
    assert bits["int4"] == 4.125 and bits["nvfp4"] == 4.5 and bits["mxfp4"] == 4.25
    assert bits["bf16"] == 16 and bits["fp8"] == 8 + 32 / 4096


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_tensor_with_what_is_no_number_is_refused(odd: float) -> None:
    x = drawn()
    x[1, 2] = odd
    for each in SCHEMES.values():
        with pytest.raises(ValueError, match=rf"x must be finite, got {odd} at \(1, 2"):
            quantize(x, each)


def test_a_scale_of_zero_is_refused() -> None:
    four = SCHEMES["int4"].numbers
    with pytest.raises(ValueError, match="scales must be positive, got 0"):
        round_with([[1.0, 2.0]], [[0.0]], four)
    with pytest.raises(ValueError, match="scales must be finite, got nan"):
        round_with([[1.0, 2.0]], [[np.nan]], four)


def test_a_group_that_does_not_divide_the_row_is_refused() -> None:
    with pytest.raises(ValueError, match="group must divide the row of 100 numbers"):
        quantize(np.ones((2, 100)), SCHEMES["int4"])
    with pytest.raises(ValueError, match="group must be at least 1, got -1"):
        quantize(np.ones((2, 4)), Scheme("", "", SCHEMES["int4"].numbers, "fp16", -1))


def test_an_unknown_scheme_is_refused() -> None:
    assert scheme("nvfp4").group == 16
    with pytest.raises(ValueError, match=r"key must be one of fp16, .*, got 'int3'"):
        scheme("int3")


def test_even_steps_win_among_like_weights_and_lose_beside_an_outlier() -> None:
    """The page's group by hand, in a group that each format shares a scale over."""
    like = np.array([0.21, -0.53, 0.70, -0.34])

    def worst(key: str, group: np.ndarray) -> float:
        whole = np.tile(group, 32)[None]
        off = np.abs(whole - quantize(whole, SCHEMES[key]).dequantize())
        return float(off[np.abs(whole) < 1].max())

    found = {key: worst(key, like) for key in ("int4", "mxfp4", "nvfp4")}
    assert found["int4"] < found["mxfp4"] < found["nvfp4"]
    loud = np.where(like == 0.70, 4.2, like)
    spoilt = {key: worst(key, loud) for key in found}
    assert max(spoilt["mxfp4"], spoilt["nvfp4"]) < spoilt["int4"]
