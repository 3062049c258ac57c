"""Numbers as people read them: read back, they are the number but for rounding."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.formula.text import kept, plain, rounded, said, si, signed, unit_text

PREFIX = {"P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "m": 1e-3, "µ": 1e-6,
          "n": 1e-9, "": 1.0}  # fmt: skip
SUPERSCRIPT = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
SHOWN = {"byte/s": "B/s", "s": "s", "FLOP": "FLOP", "FLOP/byte": "FLOP/byte",
         "token": "tokens?", "request": "requests?", "dimensionless": ""}  # fmt: skip
PREFIXED = ("byte/s", "s", "FLOP")
positive = st.floats(1e-12, 1e19)
number = st.one_of(positive, positive.map(lambda x: -x))


def read(text: str, unit: str) -> float:
    """What a reader makes of ``text``."""
    prefix = "([PTGMkmµn]?)" if unit in PREFIXED else "()"
    pattern = rf"(-?[\d.,]+)(?:×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))? ?{prefix}{SHOWN[unit]}"
    found = re.fullmatch(pattern, text)
    assert found, text
    mantissa, power, letter = found.groups()
    exponent = int((power or "0").translate(SUPERSCRIPT))
    return float(mantissa.replace(",", "")) * 10.0**exponent * PREFIX[letter]


@given(number, st.sampled_from(list(SHOWN)), st.integers(1, 6))
def test_read_back_it_is_the_number_within_rounding(
    value: float, unit: str, digits: int
) -> None:
    found = read(si(value, unit, digits), unit)
    step = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    assert abs(found - value) <= 0.5 * step * (1 + 1e-9)


@given(number, number, st.sampled_from(list(SHOWN)))
def test_a_larger_number_never_looks_smaller(a: float, b: float, unit: str) -> None:
    low, high = (read(si(value, unit), unit) for value in sorted([a, b]))
    assert low <= high + 1e-12 * abs(high)  # the slack is for reading, not for printing


@given(positive, st.sampled_from(list(SHOWN)), st.integers(1, 6))
def test_a_minus_is_all_that_a_negative_number_adds(
    value: float, unit: str, digits: int
) -> None:
    one, other = si(value, unit, digits), si(-value, unit, digits)
    assert other.rstrip("s") == "-" + one.rstrip("s")  # -1 takes the plural


@given(st.integers(1, 998), st.sampled_from([0.125, 0.25, 0.5, 0.75]))
def test_halves_round_away_from_zero(whole: int, part: float) -> None:
    digits = len(str(whole))
    up = whole + (part >= 0.5)
    assert float(plain(whole + part, digits)) == up
    assert float(plain(-whole - part, digits)) == -up


@given(st.integers(1000, 9_999_999), st.sampled_from(["token", "request"]))
def test_a_count_is_written_to_the_last_one(count: int, unit: str) -> None:
    assert si(count, unit) == f"{count:{',' if count >= 10_000 else ''}} {unit}s"


@given(positive, st.integers(1, 9))
def test_significant_digits_are_as_many_as_asked(value: float, digits: int) -> None:
    text, power = rounded(value, digits)
    assert len(text) == digits and text[0] != "0"
    assert int(text) * 10.0 ** (power - digits + 1) == pytest.approx(
        value, rel=0.51 * 10.0 ** (1 - digits)
    )


@pytest.mark.parametrize(
    ("value", "unit", "digits", "text"),
    [
        (14e9, "byte", 3, "14 GB"),
        (989e12, "FLOP/s", 3, "989 TFLOP/s"),
        (15.24, "FLOP/byte", 3, "15.2 FLOP/byte"),
        (295223.0, "FLOP/byte", 3, "295,000 FLOP/byte"),
        (26703, "token", 3, "26,703 tokens"),
        (98304, "token/request", 3, "98,304 tokens/request"),
        (98304, "token/s", 3, "98,300 tokens/s"),
        (1, "token", 3, "1 token"),
        (0, "byte", 3, "0 B"),
        (0, "token", 3, "0 tokens"),
        (0.5, "request", 3, "0.5 requests"),
        (-1.5e9, "byte/s", 3, "-1.5 GB/s"),
        (999.4, "byte", 3, "999 B"),
        (999.6, "byte", 3, "1 kB"),
        (999.6e6, "byte", 3, "1 GB"),
        (0.9996, "s", 3, "1 s"),
        (0.9994, "s", 3, "999 ms"),
        (4.18e-3, "s", 3, "4.18 ms"),
        (4.18e-6, "s", 3, "4.18 µs"),
        (4.18e-9, "s", 3, "4.18 ns"),
        (2e-11, "s", 3, "2×10⁻¹¹ s"),
        (7e9, "parameter", 3, "7×10⁹ parameters"),
        (1e18, "byte", 3, "1000 PB"),
        (0.125, "", 2, "0.13"),
        (2.5, "", 1, "3"),
        (0.8, "dimensionless", 3, "0.8"),
        (524288, "byte/token", 4, "524.3 kB/token"),
        (2.0, "FLOP/(parameter*token)", 3, "2 FLOP/(parameter·token)"),
    ],
)
def test_examples(value: float, unit: str, digits: int, text: str) -> None:
    assert si(value, unit, digits) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (98304, "token/request", "98,304 tokens"),
        (11.73, "token/(request*s)", "11.7 tokens/s"),
        (131072, "byte/token", "131 kB/token"),
        (1, "token/request", "1 token"),
    ],
)
def test_beside_its_name_nothing_is_said_to_be_per_request(
    value: float, unit: str, text: str
) -> None:
    assert said(value, unit) == text


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [(0.05, 0, "+5"), (-0.1234, 1, "−12.3"), (-0.004, 0, "+0"), (-0.0004, 1, "+0.0")],
)
def test_a_difference_has_its_sign(share: float, digits: int, text: str) -> None:
    assert signed(share, digits) == f"{text}\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=f"value must be finite .* got {value}"):
        si(value, "byte")


def test_units_are_spelled_for_a_reader() -> None:
    assert unit_text("token", plural=True) == "tokens"
    assert unit_text("token/request", plural=True) == "tokens/request"
    assert unit_text("byte / s") == "B/s"
    assert unit_text("s", plural=True) == "s"
    assert unit_text("dimensionless") == unit_text("") == ""


@given(st.floats(1000, 9_999_999), st.sampled_from(["token", "request"]))
def test_a_count_has_no_fraction(count: float, unit: str) -> None:
    text = si(count, unit)
    assert "." not in text
    assert abs(read(text, unit) - count) <= 0.5


@pytest.mark.parametrize("number", [1 / 3, 2e-13, 1.5e9 / 7, -0.1 - 0.2])
def test_a_stored_number_forgets_only_its_last_digits(number: float) -> None:
    near = number * (1 + 2**-52)
    assert kept(number) == kept(near) == pytest.approx(number, rel=1e-11)
    assert kept(7_504_924_672.0) == 7_504_924_672.0
