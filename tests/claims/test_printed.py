"""A printed number admits what rounds to its digits, and nothing else."""

import math
from decimal import ROUND_HALF_UP, Decimal

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.claims.printed import PREFIXES, factor, parse

values = st.decimals("0.001", "99999", places=6, allow_nan=False)
prefixes = st.sampled_from(sorted(PREFIXES))


def rounded(value: Decimal, places: int) -> str:
    """Round by hand: half goes up."""
    return f"{value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"


@given(values, st.integers(0, 4), prefixes)
def test_a_number_is_admitted_by_its_own_rounding(
    value: Decimal, places: int, prefix: str
) -> None:
    text = rounded(value, places)
    hypothesis.assume(float(text) > 0)
    for about in ("", "~"):
        printed = parse(f"{about}{text} {prefix}B")
        assert printed.rounds_to(float(value) * PREFIXES[prefix])
        if printed.significant > 1:
            assert printed.admits(float(value) * PREFIXES[prefix])


@given(st.integers(1, 9), st.integers(-3, 6), st.floats(0.3, 3))
def test_one_digit_is_never_trusted_beyond_an_eighth(
    digit: int, power: int, times: float
) -> None:
    text = f"{Decimal(digit).scaleb(power):f}"
    about = "~" if power > 0 else ""
    if parse(about + text).admits(float(text) * times):
        assert abs(times - 1) <= 1 / 8 + 1e-9
        assert abs(times - 1) * digit <= 0.5 + 1e-9


@given(values, st.integers(0, 4))
def test_about_admits_no_less(value: Decimal, places: int) -> None:
    text = rounded(value, places)
    hypothesis.assume(float(text) > 0)
    bare, about = parse(text).interval, parse(f"~{text}").interval
    if parse(f"~{text}").significant > 1:
        assert about[0] <= bare[0] and bare[1] <= about[1]


@given(st.lists(st.integers(10, 999), min_size=4, max_size=4))
def test_both_ends_of_a_range_decide(numbers: list[int]) -> None:
    low, high = sorted(numbers[:2])
    ends = tuple(sorted(map(float, numbers[2:])))
    hypothesis.assume(low < high)
    both = parse(str(low)).admits(ends[0]) and parse(str(high)).admits(ends[1])
    assert parse(f"{low}–{high}").admits(*ends) is both
    assert parse(f"{low}–{high}").states(*ends) is (ends == (low, high))


@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_a_factor_is_the_same_both_ways(one: float, other: float) -> None:
    assert factor(one / other) == pytest.approx(factor(other / one))
    assert factor(one / other) >= 1


@given(values, st.integers(0, 4), st.floats(0.51, 1e3), st.sampled_from((-1, 1)))
def test_a_number_more_than_half_a_unit_away_is_not(
    value: Decimal, places: int, away: float, side: int
) -> None:
    text = rounded(value, places)
    other = float(text) + side * away * 10.0**-places
    assert not parse(text).admits(other)


@given(st.integers(11, 99), st.integers(0, 5))
def test_zeros_count_only_where_nothing_says_about(digits: int, zeros: int) -> None:
    hypothesis.assume(digits % 10)
    text = str(digits) + "0" * zeros
    low, high = parse(text).interval
    assert high - low == pytest.approx(1)
    low, high = parse(f"≈ {text}").interval
    assert high - low == pytest.approx(10**zeros)


@given(values, prefixes)
def test_what_is_printed_in_full_is_stated(value: Decimal, prefix: str) -> None:
    number = float(value)
    printed = parse(f"{value:f} {prefix}B")
    assert printed.states(number * PREFIXES[prefix])
    assert not printed.states(number * PREFIXES[prefix] * (1 + 1e-9))


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [
        ("~5.7", 5.65, 5.75, ""),
        ("14 GB", 13.5e9, 14.5e9, "byte"),
        ("1.0 TB", 0.95e12, 1.05e12, "byte"),
        ("≈ 27 k", 26.5e3, 27.5e3, ""),
        ("≈ 850 tokens", 845, 855, "token"),
        ("≈ 2000", 1750, 2250, ""),
        ("~225", 220, 230, ""),
        ("≈ 4 × 10¹⁴", 3.5e14, 4.5e14, ""),
        ("~1.4 PF", 1.35e15, 1.45e15, "FLOP"),
        ("2000", 1999.5, 2000.5, ""),
        ("26,703 tokens", 26702.5, 26703.5, "token"),
        ("512 KB/token", 511.5e3, 512.5e3, "byte/token"),
        ("2.5 GiB", 2.45 * 2**30, 2.55 * 2**30, "byte"),
        ("448 GFLOPs", 447.5e9, 448.5e9, "FLOP"),
        ("~30 TB/s", 26.25e12, 33.75e12, "byte/s"),
        ("142.9 steps/s", 142.85, 142.95, "1/s"),
        ("×1.3", 1.25, 1.35, "dimensionless"),
        ("4–8×", 3.5, 8.5, "dimensionless"),
        ("3-4 orders", 2.5, 4.5, "dimensionless"),
    ],
)
def test_printed(text: str, low: float, high: float, unit: str) -> None:
    printed = parse(text)
    assert printed.interval == pytest.approx((low, high))
    assert printed.unit == unit


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("> 10×", 10.01, 10),
        ("≥ 150", 150, 149.99),
        ("< 1", 0.99, 1),
        ("≤ 80 GB", 80e9, 81e9),
    ],
)
def test_a_bound_is_kept_or_not(text: str, yes: float, no: float) -> None:
    assert parse(text).states(float(yes)) and not parse(text).states(float(no))


def test_a_bound_is_not_missed_by_a_rounding() -> None:
    assert parse("≥ 150").admits(150.0) and not parse("≥ 150").admits(149.9)
    assert parse("< 80 GB").admits(79.9e9) and not parse("< 80 GB").admits(80e9)


def test_a_range_admits_what_lies_in_it_and_states_its_ends() -> None:
    printed = parse("4–8×")
    assert printed.is_range and all(map(printed.admits, (3.6, 4.0, 5.5, 8.0, 8.4)))
    assert printed.states(4.0, 8.0) and not printed.states(5.5)


def test_a_tie_is_rounded_up() -> None:
    printed = parse("5.7")
    assert printed.admits(5.65) and not printed.admits(5.75)
    assert not printed.admits(math.nextafter(5.65, 0) - 1e-9)
    assert not parse("2×").admits(1.5) and parse("6").admits(5.5)


@pytest.mark.parametrize("text", ["", "many", "14 apples", "~", "1.2.3", "12,34", "-3"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="printed must read like"):
        parse(text)


def test_a_range_runs_upwards() -> None:
    with pytest.raises(ValueError, match="must run upwards"):
        parse("8–4×")
