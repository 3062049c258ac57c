"""Choosing near experts: copies are counted, and nothing is chosen twice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.deepseek.executed import exercise
from llmserve_lab.deepseek.executed.location import (
    affinities,
    favouring,
    largest,
    node_limited,
    placed,
)
from llmserve_lab.deepseek.page import evidence

SIZE = {"n_rows": 256, "n_experts": 64, "top_k": 8, "n_nodes": 8}


def test_without_a_bonus_all_nodes_are_alike() -> None:
    found = placed(favouring(0.0, top_k=8, n_nodes=8), n_rows=4096)
    assert found.far == pytest.approx(7 / 8, abs=0.01)
    assert found.replaced == 0.0 and found.affinity == pytest.approx(1.0)


@given(seed=st.integers(0, 5))
def test_a_larger_bonus_keeps_more_at_home_and_replaces_more(seed: int) -> None:
    bonuses = (0.0, 0.05, 0.2, 0.5, 2.0)
    found = [
        placed(favouring(b, top_k=8, n_nodes=8), seed=seed, **SIZE) for b in bonuses
    ]
    fars, new = [each.far for each in found], [each.replaced for each in found]
    assert fars == sorted(fars, reverse=True) and new == sorted(new)
    assert found[-1].far == 0.0 and found[-1].nodes == 1.0


@given(most=st.sampled_from([1, 2, 4, 8]), seed=st.integers(0, 5))
def test_a_row_stays_within_its_nodes(most: int, seed: int) -> None:
    found = placed(node_limited(most, top_k=8, n_nodes=8), seed=seed, **SIZE)
    assert found.most_nodes <= most
    if most == 8:
        assert found.replaced == 0.0


def test_nodes_are_ranked_row_by_row_by_a_slow_loop_too() -> None:
    scores = affinities(20, 64, seed=3)
    chosen = node_limited(4, top_k=8, n_nodes=8)(scores, np.zeros(20, np.int64))
    for row, picked in zip(scores, chosen, strict=True):
        sums = [sum(sorted(row[8 * n : 8 * n + 8])[-2:]) for n in range(8)]
        nodes = sorted(range(8), key=lambda n: -sums[n])[:4]
        inside = [e for n in nodes for e in range(8 * n, 8 * n + 8)]
        assert set(picked) == set(sorted(inside, key=lambda e: -row[e])[:8])


def test_the_starter_is_not_there_yet_and_the_solution_is() -> None:
    assert exercise.check(lambda scores: largest(scores, 8)).startswith("not yet")
    assert exercise.check(exercise.within_nodes).startswith("well done")

    def first_nodes(scores: np.ndarray) -> np.ndarray:
        kept = np.where(np.arange(scores.shape[1]) < 128, scores, -1.0)
        return largest(kept, 8)

    assert "affinity" in exercise.check(first_nodes)


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (lambda scores: largest(scores, 7), "must be"),
        (lambda scores: np.zeros((len(scores), 8), np.int64), "different"),
    ],
)
def test_a_choice_that_breaks_a_rule_is_told_which(
    choose: exercise.Route, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        exercise.check(choose)


def test_the_limit_lets_as_many_copies_leave_but_reaches_fewer_nodes() -> None:
    """The book's router: four of eight nodes; one copy for each would be half."""
    free, limited = (placed(node_limited(most, top_k=8, n_nodes=8)) for most in (8, 4))
    assert free.nodes == pytest.approx(5.3, abs=0.05) and free.most_nodes > 6
    assert limited.nodes == pytest.approx(4.0, abs=0.05)
    assert limited.far == pytest.approx(free.far, abs=0.005)
    elsewhere = limited.nodes * 7 / 8
    assert elsewhere / (8 * limited.far) == pytest.approx(1 / 2, abs=0.01)


def test_a_bonus_of_a_tenth_keeps_copies_and_changes_experts() -> None:
    free, tenth = (evidence.favoured(bonus) for bonus in (0.0, 0.1))
    assert free.far == pytest.approx(7 / 8, abs=0.01) and free.replaced == 0
    assert tenth.far == pytest.approx(0.61, abs=0.01)
    assert tenth.replaced == pytest.approx(0.27, abs=0.01)
    assert 1.15 < tenth.tokens_per_s / free.tokens_per_s < 1.2


def test_with_a_bonus_a_node_of_more_rows_loads_its_own_experts_more() -> None:
    """Rows of one node alone, counted by the node of their experts."""
    scores = affinities(4096, 256)
    home = np.zeros(4096, np.int64)
    loads = [
        float((favouring(bonus, top_k=8, n_nodes=8)(scores, home) < 32).mean())
        for bonus in (0.0, 0.1)
    ]
    assert loads[0] == pytest.approx(1 / 8, abs=0.01) and loads[1] > 3 * loads[0]


def test_fewer_copies_between_nodes_are_more_tokens() -> None:
    rates = [evidence.favoured(bonus).tokens_per_s for bonus in evidence.BONUSES]
    assert rates == sorted(rates) and rates[-1] > 1.3 * rates[0]
