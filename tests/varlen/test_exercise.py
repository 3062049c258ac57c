"""The check of the reader's kernel: the naive one fails, the solution passes."""

import numpy as np
import pytest

from llmserve_lab.varlen.exercise import aligned_at_the_end, aligned_at_the_start, check
from llmserve_lab.varlen.kernel import attend_packed


def test_the_check_tells_the_naive_kernel_from_the_solution() -> None:
    assert check(aligned_at_the_start).startswith("not yet: 3 of 3 rows")
    assert check(aligned_at_the_end).startswith("well done")


def test_a_kernel_that_ignores_the_cache_is_not_enough() -> None:
    said = check(
        lambda q, k, v, cu_q, _: attend_packed(q, k[: len(q)], v[: len(q)], cu_q)
    )
    assert said.startswith("not yet")


def test_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"out must have shape \(8, 8\), got \(1, 1\)"):
        check(lambda *_: np.zeros((1, 1)))
