"""GPTQ beside rounding to nearest: its own objective, and an independent solution."""

import numpy as np
import pytest

from llmserve_lab.quantization.gptq import columns, gptq, hessian, output_error, rtn
from llmserve_lab.quantization.page import steps
from llmserve_lab.quantization.schemes import SCHEMES

RNG = np.random.default_rng(5)
MIX = RNG.standard_normal((64, 64)) * np.exp(-np.arange(64) / 12)[:, None]
FOUR = SCHEMES["int4-32"]


def inputs(rows: int) -> np.ndarray:
    """Correlated inputs of one law."""
    return np.asarray(RNG.standard_normal((rows, 64)) @ MIX)


@pytest.mark.parametrize("key", ["int4-32", "nvfp4", "mxfp4", "int4-row"])
def test_the_outputs_are_better_on_calibration_and_on_held_out_inputs(key: str) -> None:
    weight, seen, unseen = RNG.standard_normal((24, 64)), inputs(512), inputs(512)
    better, nearest = gptq(weight, seen, SCHEMES[key]), rtn(weight, SCHEMES[key])
    for rows in (seen, unseen):
        assert output_error(weight, better, rows) < 0.8 * output_error(
            weight, nearest, rows
        )
    # the price: the weights themselves are further off
    assert np.linalg.norm(better - weight) > np.linalg.norm(nearest - weight)


def test_uncorrelated_inputs_leave_nothing_to_gain() -> None:
    weight = RNG.standard_normal((8, 64))
    one_by_one = np.eye(64) * 3.0
    np.testing.assert_allclose(gptq(weight, one_by_one, FOUR), rtn(weight, FOUR))


def test_what_is_left_after_a_column_is_the_least_squares_answer() -> None:
    """With the columns so far fixed, the others are solved for again from scratch."""
    weight, rows = RNG.standard_normal((3, 32)), inputs(200)[:, :32]
    moment = hessian(rows)
    for step in list(columns(weight, rows, FOUR))[:-1]:
        done, rest = slice(0, step.column + 1), slice(step.column + 1, None)
        wrong = step.weight[:, done] - weight[:, done]
        best = (
            weight[:, rest]
            - wrong @ np.linalg.solve(moment[rest, rest], moment[rest, done]).T
        )
        np.testing.assert_allclose(step.weight[:, rest], best, rtol=1e-7, atol=1e-9)


def test_every_column_is_visited_once_and_ends_on_the_grid() -> None:
    weight, rows = RNG.standard_normal((4, 64)), inputs(100)
    steps = list(columns(weight, rows, SCHEMES["int4-row"]))
    assert [step.column for step in steps] == list(range(64))
    final = steps[-1].weight
    scale = np.abs(weight).max(axis=1, keepdims=True) / 7
    on_grid = final / scale
    np.testing.assert_allclose(on_grid, np.round(on_grid), atol=1e-2)


def test_bad_input_is_named() -> None:
    weight = np.ones((2, 32))
    with pytest.raises(ValueError, match="inputs must have 32 columns"):
        gptq(weight, np.ones((5, 31)), FOUR)
    with pytest.raises(ValueError, match="inputs must be finite, got nan"):
        gptq(weight, np.full((5, 32), np.nan), FOUR)
    with pytest.raises(ValueError, match="weight must be finite, got inf"):
        gptq(np.full((2, 32), np.inf), np.ones((5, 32)), FOUR)
    with pytest.raises(ValueError, match="damping must be positive, got 0"):
        gptq(weight, np.ones((5, 32)), FOUR, damping=0.0)


def test_what_gptq_leaves_is_what_each_input_does_by_itself() -> None:
    """Inputs cut into their mean and the rest: the moves cancel for the mean alone."""
    weight, rows = steps.small_layer()
    rounded = list(columns(weight, rows, steps.TOY))[-1].weight
    mean = np.broadcast_to(rows.mean(axis=1, keepdims=True), rows.shape)
    common, own, whole = (
        float(np.linalg.norm(part @ (rounded - weight).T)) for part in
        (mean, rows - mean, rows)
    )  # fmt: skip
    assert common < 0.25 * own and own > 0.95 * whole
