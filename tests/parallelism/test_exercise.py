"""The check of the reader's dealing: runs fail, zig-zag passes, nearly does not."""

from __future__ import annotations

import pytest

from llmserve_lab.parallelism.dealing import zigzag
from llmserve_lab.parallelism.exercise import check, early_and_late, in_runs


def test_the_check_tells_runs_from_the_solution() -> None:
    assert check(in_runs).startswith("not yet") and "36, 100 pairs" in check(in_runs)
    assert check(early_and_late).startswith("well done")


def test_the_solution_is_the_dealing_of_the_ring() -> None:
    for n_tokens, ranks in ((16, 2), (24, 3), (96, 8)):
        dealt = [part.tolist() for part in zigzag(n_tokens, ranks)]
        assert early_and_late(n_tokens, ranks) == dealt


def test_what_is_nearly_right_is_told_so() -> None:
    in_turn = check(lambda n, g: [list(range(i, n, g)) for i in range(g)])
    assert "64, 72 pairs" in in_turn
    lost = check(lambda n, g: [[0]] * g)
    assert "on no rank, or on two" in lost
    uneven = check(
        lambda n, g: [list(range(n - g + 1)), *([i] for i in range(n - g + 1, n))]
    )
    assert "hold 15, 1 tokens" in uneven
    with pytest.raises(ValueError, match="deal must return 2 lists, one a rank, got 0"):
        check(lambda n, g: [])
