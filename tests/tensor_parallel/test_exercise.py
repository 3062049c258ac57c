"""The exercise's check: the naive network, the solution, and wrong ones."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.collectives import Rank
from llmserve_lab.tensor_parallel import exercise
from llmserve_lab.tensor_parallel.exercise import Mlp, check
from llmserve_lab.transformer.arithmetic import Array


def only_mine(rank: Rank, x: Array, up: Array, down: Array) -> Array:
    part = np.maximum(x @ exercise.columns_of(up, rank), 0)
    return part @ exercise.rows_of(down, rank)


def uncut(rank: Rank, x: Array, up: Array, down: Array) -> Array:
    return np.maximum(x @ up, 0) @ down


def narrow(rank: Rank, x: Array, up: Array, down: Array) -> Array:
    return x[:, :1]


def raising(rank: Rank, x: Array, up: Array, down: Array) -> Array:
    raise RuntimeError("no idea")


def test_the_starter_is_right_but_exchanges_twice() -> None:
    assert check(exercise.by_columns_twice).startswith("not yet: the numbers are right")


def test_the_solution_is_accepted() -> None:
    assert check(exercise.columns_then_rows).startswith("well done: one exchange")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (only_mine, "other numbers"),
        (uncut, "nothing was exchanged"),
        (narrow, "has shape"),
        (raising, "the ranks stopped"),
    ],
)
def test_what_is_wrong_is_said(wrong: Mlp, said: str) -> None:
    answer = check(wrong)
    assert answer.startswith("not yet") and said in answer
