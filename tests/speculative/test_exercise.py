"""The check of the reader's rule: the naive one fails, the solution passes."""

from typing import Any

import pytest

from llmserve_lab.speculative.exercise import (
    TARGET,
    check,
    drawn_from_the_residual,
    law_of,
    redrawn_from_the_target,
)


def test_the_check_tells_the_naive_rule_from_the_solution() -> None:
    assert check(redrawn_from_the_target).startswith(
        "not yet: tea comes with 0.3750"[:16]
    )
    assert check(drawn_from_the_residual).startswith("well done")
    assert law_of(drawn_from_the_residual) == pytest.approx(TARGET, abs=1e-15)


@pytest.mark.parametrize(
    "rule",
    [
        lambda x, p, q, dice: x,  # always kept: the draft's law
        lambda x, p, q, dice: x if dice.random() < p[x] else 0,
        lambda x, p, q, dice: x if dice.random() < q[x] / max(p) else 1,
    ],
)
def test_other_rules_are_not_enough(rule: Any) -> None:
    assert check(rule).startswith("not yet")


def test_what_is_no_rule_is_refused() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="accept must be a function, got None"):
        check(nothing)
    with pytest.raises(ValueError, match="token must be 0 to 2, got 7"):
        check(lambda x, p, q, dice: 7)

    def greedy(x: int, p: Any, q: Any, dice: Any) -> int:
        return int(dice.random() + dice.random() + dice.random())

    with pytest.raises(ValueError, match="at most two random numbers may be drawn"):
        check(greedy)
