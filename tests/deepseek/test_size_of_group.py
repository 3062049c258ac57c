"""How large a group should be: which sizes tie, and how those measured have erred."""

import pytest

from llmserve_lab.deepseek.evaluation import decisions, sensitivity
from llmserve_lab.deepseek.evaluation.group_size import rate_with
from llmserve_lab.deepseek.page import evidence, group

SIZES = (16, 32, 72, 96, 144, 256)


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


@pytest.mark.parametrize(("ms", "chosen"), [(33, 72), (50, 32), (100, 72)])
def test_the_smallest_that_ties_with_the_best_is_taken(ms: int, chosen: int) -> None:
    """Size by size as the figure has it: none smaller ties, and the chosen one does."""
    error = evidence.by_fabric()[evidence.ACROSS].mean_error
    made = {ep: group.best_of("h100-sxm", ep, ms).tokens_per_s for ep in SIZES}
    best = max(made.values())
    ties = [ep for ep in SIZES if best / made[ep] - 1 <= error]
    found = decisions.smallest_near_best(SIZES, 4000.0, ms / 1e3, within=error)
    assert found == ties[0] == chosen
    # A little more or less of an error leaves the choice as it is.
    for other in (0.75 * error, 1.2 * error):
        at = {"context": 4000.0, "tpot_s": ms / 1e3, "within": other}
        assert decisions.smallest_near_best(SIZES, **at) == chosen


def test_with_half_as_large_caches_a_small_group_suffices_at_a_loose_target() -> None:
    """Memory limits 32 GPUs at 100 ms; with caches in FP8 less, and they tie."""
    error = evidence.by_fabric()[evidence.ACROSS].mean_error
    at = {"context": 4000.0, "tpot_s": 0.1}
    made = {ep: decisions.rate_at(ep, **at, cache="fp8") for ep in SIZES}
    ties = [ep for ep in SIZES if max(made.values()) / made[ep] - 1 <= error]
    found = decisions.smallest_near_best(SIZES, **at, within=error, cache="fp8")
    assert found == ties[0] == 32
    assert made[32] > 1.4 * decisions.rate_at(32, **at)


@pytest.mark.parametrize("ep", [32, 72, 144])
def test_one_drafted_token_makes_more_where_users_want_twice_the_speed(ep: int) -> None:
    """By the twin: a step serves more tokens, and the target leaves time for drafts."""
    drafting = sensitivity.changes()["one token drafted"]
    bare = decisions.rate_at(ep, 2000.0, group.twice_s())
    assert 1.2 < decisions.rate_at(ep, 2000.0, group.twice_s(), **drafting) / bare < 1.6


def test_without_an_error_the_best_itself_is_taken() -> None:
    found = decisions.smallest_near_best(SIZES, 4000.0, 0.05, within=0.0)
    assert found == 144
    with pytest.raises(ValueError, match="must be positive, got 0"):
        decisions.smallest_near_best(SIZES, 4000.0, 0.02, within=0.1)


def test_more_copies_keep_a_group_of_256_from_reading_less() -> None:
    """One expert on each GPU instead of two, at fifty milliseconds."""
    made = [decisions.rate_at(256, 4000.0, 0.05, n_redundant=n) for n in (0, 32, 256)]
    assert made[1] == made[2]  # two on each GPU, however many copies were asked for
    assert 1.03 < made[0] / made[1] < 1.08
