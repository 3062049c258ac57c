"""The check of the reader's search: the naive one fails, the solution passes."""

from typing import Any

import pytest

from llmserve_lab.capacity.exercise import Keeps, by_halving, by_price, check, world


def test_the_check_tells_the_naive_search_from_the_solution() -> None:
    assert check(by_price).startswith("not yet: right, but up to")
    assert check(by_halving).startswith("well done")


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (lambda prices, keeps: (0, 1), "do not keep the level"),
        (lambda prices, keeps: (9, 1), "are not on offer"),
    ],
)
def test_other_answers_are_not_enough(search: Any, said: str) -> None:
    found = check(search)
    assert found.startswith("not yet") and said in found


def test_a_dear_answer_is_told_the_cheaper_price() -> None:
    def largest(prices: list[float], keeps: Keeps) -> tuple[int, int]:
        kind = next(k for k in range(len(prices)) if keeps(k, 16))
        return kind, 16

    assert "would do" in check(largest)


def test_a_market_counts_its_calls() -> None:
    market = world(3)
    assert market.keeps(1, 16) in (True, False)
    assert not market.keeps(0, 1)
    assert market.calls == 2


def test_what_is_no_search_is_refused() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="cheapest must be a function, got None"):
        check(nothing)
