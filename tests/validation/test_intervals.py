"""Intervals of mean errors: groups are drawn, and the seed repeats them."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.validation.intervals import mean_interval, median_interval


def test_groups_are_drawn_and_not_rows() -> None:
    """Ten copies of each row in its group tell no more than the row alone."""
    size = np.random.default_rng(1).random(30)
    once = mean_interval(size, np.arange(30))
    copied = mean_interval(np.repeat(size, 10), np.repeat(np.arange(30), 10))
    assert copied == pytest.approx(once)
    single = mean_interval(np.repeat(size, 10), np.arange(300))
    assert single[1] - single[0] < 0.5 * (once[1] - once[0])


def test_it_is_as_wide_as_the_normal_law_says() -> None:
    size = np.random.default_rng(2).random(400)
    low, high = mean_interval(size, np.arange(400))
    half = 1.96 * size.std() / 20
    assert (low, high) == pytest.approx(
        (size.mean() - half, size.mean() + half), rel=0.02
    )


def test_one_group_has_no_interval() -> None:
    with pytest.raises(ValueError, match="group must tell 2 apart, got 1"):
        mean_interval(np.ones(3), np.zeros(3))


def test_the_interval_of_a_median_draws_whole_groups() -> None:
    """Rows that only repeat their group's first say nothing new."""
    size = np.random.default_rng(3).exponential(size=(40, 1))
    once, copied = median_interval(size), median_interval(np.repeat(size, 25, axis=1))
    assert copied == pytest.approx(once)
    assert once.low < np.median(size) < once.high
    few = median_interval(size[:10])
    assert few.high - few.low > once.high - once.low
    assert median_interval(np.full((5, 3), 0.25)) == (0.25, 0.25)
    with pytest.raises(ValueError, match="size must have 2 groups, got 1"):
        median_interval(size[:1])
