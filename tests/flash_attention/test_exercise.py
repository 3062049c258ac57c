"""The check tells the naive sum from an online softmax; the bench answers."""

import numpy as np
import pytest

from llmserve_lab.flash_attention.exercise import (
    check,
    online_softmax,
    without_maximum,
)
from llmserve_lab.flash_attention.page.playground import bench
from llmserve_lab.transformer.arithmetic import Array
from tests.benches import answered


def test_the_naive_sum_is_not_enough_and_the_solution_is() -> None:
    assert check(without_maximum).startswith("not yet: with scores near 1,000")
    assert check(online_softmax).startswith("well done")


def test_a_maximum_without_rescaling_is_not_enough() -> None:
    def forgets(tiles: object) -> Array:
        total, mixed = 0.0, np.zeros(2)
        for scores, values in tiles:  # type: ignore[attr-defined]
            weights = np.exp(scores - scores.max())
            total, mixed = total + weights.sum(), mixed + weights @ values
        return np.asarray(mixed / total)

    assert check(forgets).startswith("not yet: with falling scores")


def test_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"output must have shape \(2,\), got \(1,\)"):
        check(lambda _tiles: np.zeros(1))


def test_the_bench_runs_the_kernel() -> None:
    assert "fits" not in answered(bench)
    assert "Not possible" in answered(bench, tile_rows=512)
    assert "73.3" in answered(bench, prompt_len=512, tile_rows=128, tile_keys=64)


def test_the_goal_of_the_bench_can_be_reached() -> None:
    shown = answered(bench, prompt_len=512, tile_rows=256, tile_keys=64)
    assert "102" in shown and "Not possible" not in shown
