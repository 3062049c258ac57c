"""Draws of experts agree with the exact mean, and judge the balls in bins."""

import numpy as np
import pytest

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import decisions
from llmserve_lab.deepseek.executed.routing import draw

SIZE = {"n_experts": 64, "top_k": 4, "n_gpus": 8}


def expected(rows: int) -> float:
    return float(
        f.READ_EXPERTS(local_experts=8, top_k=4, n_experts=64, n_rows=rows, ep=1)
    )


@pytest.mark.parametrize("rows", [1, 3, 12, 40])
def test_the_exact_mean_is_what_is_drawn(rows: int) -> None:
    found = draw(n_rows=rows, times=400, seed=rows, **SIZE)
    assert found.mean == pytest.approx(expected(rows), rel=0.03)


@pytest.mark.parametrize("rows", [4, 8, 12])
def test_balls_in_bins_overshoot_in_between_and_never_past_the_cut(rows: int) -> None:
    found = draw(n_rows=rows, times=200, **SIZE)
    balls = float(f.BUSIEST_EXPERTS(local_experts=8, read_experts=expected(rows), ep=8))
    assert found.mean < found.busiest < balls <= 8


def test_every_expert_is_touched_in_the_end() -> None:
    found = draw(n_rows=2000, times=3, **SIZE)
    assert found.mean == found.busiest == 8
    assert expected(2000) == pytest.approx(8)


def test_a_row_chooses_different_experts() -> None:
    one = draw(n_rows=1, n_experts=8, top_k=8, n_gpus=8, times=5)
    assert one.mean == one.busiest == 1


def test_even_routing_is_not_even_and_more_rows_make_it_so() -> None:
    balance = [draw(n_rows=n, times=20, **SIZE).balancedness for n in (8, 64, 512)]
    assert np.diff(balance).min() > 0 and balance[0] < 0.7 < 0.85 < balance[-1] < 1


def test_the_same_seed_draws_the_same() -> None:
    assert draw(n_rows=5, times=3, **SIZE) == draw(n_rows=5, times=3, **SIZE)


@pytest.mark.parametrize("name", ["n_rows", "times", "top_k", "n_gpus"])
def test_nothing_is_not_drawn(name: str) -> None:
    size = SIZE | {"n_rows": 1, "times": 1} | {name: 0}
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        draw(**size)


def test_more_choices_than_experts_are_refused() -> None:
    with pytest.raises(ValueError, match="top_k must be at most n_experts = 2, got 3"):
        draw(n_rows=1, n_experts=2, top_k=3, n_gpus=1, times=1)


def test_loads_of_fewer_experts_scatter_more() -> None:
    """Drawn: the busiest of 72 GPUs with four experts, against one of 32 with nine."""
    normal = np.random.default_rng(0).standard_normal
    above = [
        float((normal((20_000, gpus, held)).mean(axis=2)).max(axis=1).mean())
        for gpus, held in ((32, 9), (72, 4))
    ]
    over = (1 / book_assumptions().balancedness - 1) * above[1] / above[0]
    assert 1 / (1 + over) == pytest.approx(decisions.balance_of(72), rel=0.01)
