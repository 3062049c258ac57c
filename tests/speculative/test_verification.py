"""The algorithm itself: exact laws by enumeration of its dice, and what it refuses."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.speculative.enumeration import (
    law_of_a_pass,
    law_of_a_text,
    law_of_the_target,
    mean_tokens,
)
from llmserve_lab.speculative.verification import Verified, residual, verify
from tests.depth import examples
from tests.speculative.dice import law_of_outcomes

# In quarters, so that all thresholds lie on a grid: after each of two tokens, p and q.
P = {0: np.array([0.5, 0.25, 0.25]), 1: np.array([0.25, 0.75, 0.0])}
Q = {0: np.array([0.25, 0.5, 0.25]), 1: np.array([0.5, 0.25, 0.25])}


def table(of: dict[int, Any]) -> Any:
    """A law by the length of the text and its last token."""
    return lambda text: of[(len(text) + (text[-1] if text else 0)) % 2]


def random_law(seed: int, vocab: int, zeros: float = 0.0) -> Any:
    """Another law after each text, some of it zero."""

    def law(text: tuple[int, ...]) -> Any:
        rng = np.random.default_rng([seed, len(text), *text])
        weights = rng.dirichlet(np.ones(vocab)) * (rng.random(vocab) >= zeros)
        weights = weights if weights.sum() > 0 else np.ones(vocab)
        return weights / weights.sum()

    return law


def test_the_code_keeps_the_law_dice_by_dice() -> None:
    """Every chain of two drafts, every number drawn: the code against the sum of paths.

    Three numbers at most are drawn in a pass: two checks, and the last token.
    """
    target, draft = table(P), table(Q)
    exact, found = law_of_a_pass(target, draft, 2), dict[Any, float]()
    for drafts in product(range(3), repeat=2):
        chance = draft(())[drafts[0]] * draft(drafts[:1])[drafts[1]]
        q = np.array([draft(()), draft(drafts[:1])])
        p = np.array([target(()), target(drafts[:1]), target(drafts)])

        def act(dice: Any, drafts: Any = drafts, q: Any = q, p: Any = p) -> Any:
            return verify(drafts, q, p, dice).tokens

        for tokens, share in law_of_outcomes(act, parts=12, draws=3).items():
            found[tokens] = found.get(tokens, 0.0) + chance * share
    assert {k for k, v in found.items() if v} == {k for k, v in exact.items() if v}
    for tokens, chance in found.items():
        assert chance == pytest.approx(exact[tokens], abs=1e-12)


@given(
    seed=st.integers(0, 10**6),
    vocab=st.integers(2, 4),
    n_draft=st.integers(1, 3),
    zeros=st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=examples(15), deadline=None)
def test_the_law_of_the_text_is_the_target_s(
    seed: int, vocab: int, n_draft: int, zeros: float
) -> None:
    target, draft = random_law(seed, vocab, zeros), random_law(seed + 1, vocab, zeros)
    found = law_of_a_text(target, draft, n_draft, 3)
    np.testing.assert_allclose(found, law_of_the_target(target, 3), atol=1e-12)
    assert found.sum() == pytest.approx(1, abs=1e-12)


def test_without_the_residual_the_law_is_another() -> None:
    p, q = P[0], Q[0]
    kept = np.minimum(p, q)
    wrong = kept + (1 - kept.sum()) * p  # a rejected draft replaced by the target's own
    right = kept + (1 - kept.sum()) * residual(p, q)
    assert np.abs(right - p).max() < 1e-15 < 0.05 < np.abs(wrong - p).max()


def test_equal_laws_keep_all_and_disjoint_ones_none() -> None:
    same = random_law(3, 4)
    assert mean_tokens(same, same, 3) == pytest.approx(4)
    one, other = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert mean_tokens(lambda _: one, lambda _: other, 3) == pytest.approx(1)


def test_greedy_is_the_case_of_certain_laws() -> None:
    sure = np.eye(4)
    rng = np.random.default_rng(0)
    found = verify([2, 1, 3], sure[[2, 1, 3]], sure[[2, 1, 0, 0]], rng)
    assert found.tokens == (2, 1, 0) and not found.bonus
    assert [check.chance for check in found.checks] == [1, 1, 0]
    assert verify([2], sure[[2]], sure[[2, 3]], rng).tokens == (2, 3)


def test_no_draft_is_a_pass_as_before() -> None:
    law = np.array([[0.0, 1.0]])
    found = verify([], np.zeros((0, 2)), law, np.random.default_rng(0))
    assert found == Verified((), 1, ()) and found.bonus


LAW = np.array([[0.5, 0.5]])


@pytest.mark.parametrize(
    ("drafts", "q", "p", "says"),
    [
        (
            [0],
            np.array([[0.5, 0.25, 0.25]]),
            LAW[[0, 0]],
            "draft_laws must be a law over the target's 2 tokens, got 3",
        ),
        (
            [0],
            np.array([[1.5, -0.5]]),
            LAW[[0, 0]],
            "draft_laws must have no probability below 0, got -0.5",
        ),
        ([0], np.array([[0.5, 0.4]]), LAW[[0, 0]], "draft_laws must sum to 1, got 0.9"),
        (
            [0],
            LAW,
            np.array([[0.5, 0.5], [1.0, np.nan]]),
            "target_laws must have no probability below 0, got nan",
        ),
        ([0], LAW, LAW, "target_laws must be 2, one more than the drafts, got"),
        ([0, 1], LAW, LAW[[0, 0, 0]], "draft_laws must be 2, one a draft, got"),
        ([2], LAW, LAW[[0, 0]], "drafts must be ids from 0 to 1, got 2"),
        (
            [0],
            np.array([[0.0, 1.0]]),
            LAW[[0, 0]],
            "drafts must be drawn from their laws, got 0 with chance 0",
        ),
    ],
)
def test_refusals(drafts: list[int], q: Any, p: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        verify(drafts, q, p, np.random.default_rng(0))


def test_what_leaves_no_residual_and_no_drafts() -> None:
    with pytest.raises(ValueError, match="to leave a residual, got equal"):
        residual(LAW[0], LAW[0])
    with pytest.raises(ValueError, match="n_draft must be at least 1 draft, got 0"):
        law_of_a_pass(table(P), table(Q), 0)
