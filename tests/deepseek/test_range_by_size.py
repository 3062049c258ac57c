"""Ranges of a rate at a target, by the measured runs of a group's size."""

import pytest

from llmserve_lab.deepseek.evaluation import decisions
from llmserve_lab.deepseek.evaluation.bands import scored
from llmserve_lab.deepseek.evaluation.group_size import rate_with
from tests.deepseek.test_remember import searched


@pytest.mark.parametrize(("ep", "ms"), [(16, 50), (32, 50), (72, 33), (72, 50)])
def test_a_range_by_size_is_that_of_the_runs_of_that_size(ep: int, ms: int) -> None:
    """Every batch tried with the errors of those runs alone, read off the table."""
    errors = [
        (place.ep, error)
        for place, error in scored()
        if place.across and (place.ep >= 72 or ep < 72) and (place.ep <= 16 or ep > 16)
    ]
    assert len(errors) == {16: 3, 32: 8, 72: 5}[ep]
    made = [searched(ep, ms / 1e3, error) for _, error in errors]
    found = decisions.range_by_size(ep, 4000.0, ms / 1e3)
    assert found == pytest.approx((min(made), max(made)), rel=1e-6)


def test_small_groups_were_slower_than_predicted_and_large_ones_not() -> None:
    small, large = (decisions.errors_by_size(large=each) for each in (False, True))
    assert len(small) == 3 and max(small) < -0.15
    assert len(large) == 5 and min(large) > -0.02 and sorted(large)[1] > 0.05


def test_a_rate_that_no_batch_keeps_is_none() -> None:
    at = {"context": 4000.0, "tpot_s": 0.02}
    assert rate_with("h100-sxm", 72, **at, error=0.0) == 0.0
    assert rate_with("h100-sxm", 72, **at, error=0.23) > 0.0
    with pytest.raises(ValueError, match="tpot_s must be positive, got 0"):
        rate_with("h100-sxm", 72, context=4000.0, tpot_s=0.0, error=0.0)


def test_the_group_of_72_has_the_highest_low_end_but_for_larger_ones() -> None:
    """The page's rule of choice, at all three targets of its figure."""
    for ms in (33, 50, 100):
        low = {
            ep: decisions.range_by_size(ep, 4000.0, ms / 1e3)[0]
            for ep in (16, 32, 72, 96, 144)
        }
        assert low[16] < low[32] < 0.84 * low[72]
        assert max(low[96], low[144]) < 1.16 * low[72]
