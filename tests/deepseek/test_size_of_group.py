"""How large a group should be: how a ratio of two sizes has erred, and what follows."""

from itertools import combinations
from typing import Any

import pytest

from llmserve_lab.deepseek.evaluation import decisions, pairs, sensitivity
from llmserve_lab.deepseek.evaluation.bands import scored
from llmserve_lab.deepseek.evaluation.group_size import fits_as_served, rate_with
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page import answers, group
from tests.deepseek.twins import twin

LEAN = {"cache": "fp8", "n_redundant": 0}


def measured_pairs() -> list[tuple[float, float]]:
    """Every two decodes across nodes of different sizes, the smaller group first."""
    runs = sorted((run.ep, error) for run, error in scored() if run.across)
    return [(a[1], b[1]) for a, b in combinations(runs, 2) if a[0] != b[0]]


def test_a_ratio_errs_as_two_rates_divided_do() -> None:
    """With any step predicted, say of one second, measured is predicted / (1 + e)."""
    found = []
    for few, many in measured_pairs():
        predicted = (1 / 1.0) / (1 / 1.0)
        measured = (1 / (1.0 / (1 + many))) / (1 / (1.0 / (1 + few)))
        found.append(predicted / measured - 1)
    assert sorted(pairs.ratio_errors()) == pytest.approx(sorted(found))
    assert len(found) == 24 and sum(off < 0 for off in found) == 22
    assert -0.36 < min(found) < -0.35 and 0.16 < max(found) < 0.17


def test_small_groups_were_slower_than_predicted_and_large_ones_not() -> None:
    runs = [(run.ep, error) for run, error in scored() if run.across]
    small = [error for ep, error in runs if ep == 16]
    large = [error for ep, error in runs if ep >= 72]
    assert len(small) == 3 and max(small) < -0.15
    assert len(large) == 5 and min(large) > -0.02 and sorted(large)[1] > 0.05


def test_a_rate_that_no_batch_keeps_is_none() -> None:
    at = {"context": 4000.0, "tpot_s": 0.02}
    assert rate_with("h100-sxm", 72, **at, error=0.0) == 0.0
    assert rate_with("h100-sxm", 72, **at, error=0.23) > 0.0
    with pytest.raises(ValueError, match="tpot_s must be positive, got 0"):
        rate_with("h100-sxm", 72, context=4000.0, tpot_s=0.0, error=0.0)


def tried(ep: int, tpot_s: float, error: float, **held: object) -> float:
    """Best rate at a target, every batch tried; every step predicted with an error."""
    best = 0.0
    for way in ("none", "halves"):
        one = twin(setup("h100-sxm", ep), overlap=way, **held)
        for batch in range(1, fits_as_served(one, 4000.0) + 1):
            real_s = float(one.step_s(batch=batch, context=4000.0)) / (1 + error)
            if real_s > tpot_s:
                break
            best = max(best, batch / real_s)
    return best


@pytest.mark.parametrize(
    ("few", "ms", "lean", "ahead"),
    [
        (32, 33, False, 22),
        (32, 50, False, 22),
        (32, 100, False, 24),
        (16, 50, False, 24),
        (16, 50, True, 22),
        (32, 100, True, 22),
    ],
)
def test_the_larger_is_ahead_in_as_many_pairs_as_the_page_says(
    few: int, ms: int, lean: bool, ahead: int
) -> None:
    at: Any = {"context": 4000.0, "tpot_s": ms / 1e3, "lean": lean}
    found = pairs.compared(few, 72, **at)
    assert (found.ahead, found.pairs) == (ahead, 24)
    assert found.decided == (ahead == 24)
    wins = [
        rate_with("h100-sxm", 72, **at, error=many)
        > rate_with("h100-sxm", few, **at, error=less)
        for less, many in measured_pairs()
    ]
    assert sum(wins) == ahead


def test_a_rate_with_an_error_is_that_of_the_best_batch_tried() -> None:
    few, many = min(measured_pairs())
    for lean, held in ((False, {}), (True, LEAN)):
        for ep, error in ((16, few), (72, many)):
            at = {"context": 4000.0, "tpot_s": 0.05, "error": error, "lean": lean}
            made = rate_with("h100-sxm", ep, **at)
            assert made == pytest.approx(tried(ep, 0.05, error, **held), rel=1e-6)


def test_the_second_of_two_sizes_is_the_larger() -> None:
    with pytest.raises(ValueError, match="many - few must be positive, got -40"):
        pairs.compared(72, 32, context=4000.0, tpot_s=0.05)


def test_without_copies_and_in_fp8_sixteen_make_more_than_twice_as_much() -> None:
    few, lean = (group.best_of("h100-sxm", 16, 50, lean=each) for each in (False, True))
    assert lean.tokens_per_s > 2 * few.tokens_per_s and few.full and not lean.full
    best = group.best_of("h100-sxm", 72, 50, lean=True).tokens_per_s
    assert 1.1 < best / lean.tokens_per_s < 1.2


@pytest.mark.parametrize("ep", [32, 72, 144])
def test_one_drafted_token_makes_more_where_users_want_twice_the_speed(ep: int) -> None:
    """By the twin: a step serves more tokens, and the target leaves time for drafts."""
    drafting = sensitivity.changes()["one token drafted"]
    bare = decisions.rate_at(ep, 2000.0, answers.twice_s())
    assert (
        1.2 < decisions.rate_at(ep, 2000.0, answers.twice_s(), **drafting) / bare < 1.6
    )


def test_more_copies_keep_a_group_of_256_from_reading_less() -> None:
    """One expert on each GPU instead of two, at fifty milliseconds."""
    made = [decisions.rate_at(256, 4000.0, 0.05, n_redundant=n) for n in (0, 32, 256)]
    assert made[1] == made[2]  # two on each GPU, however many copies were asked for
    assert 1.03 < made[0] / made[1] < 1.08
