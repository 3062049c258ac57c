"""GPTQ: round column by column, and push each error onto the columns still to come.

Frantar et al. 2022 (arXiv 2210.17323). A weight's inputs on calibration data say which
errors cancel: their second moment is the Hessian of the squared error of the outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llmserve_lab.checks import positive
from llmserve_lab.quantization.codecs import Array, finite
from llmserve_lab.quantization.schemes import Scheme, quantize, round_with

DAMPING = 0.01  # of the mean of the diagonal, added to it, as in the paper


@dataclass(frozen=True, eq=False)
class ColumnStep:
    """One column: what it had become, what it is rounded to, what the others get."""

    column: int
    before: Array
    rounded: Array
    weight: Array


def hessian(inputs: npt.ArrayLike, *, damping: float = DAMPING) -> Array:
    """Second moment of the inputs [n, d], twice, and a little more on the diagonal.

    Raises:
        ValueError: an input or the damping is not finite, or the latter not positive.
    """
    rows = finite("inputs", inputs)
    positive("damping", damping)
    moment = 2 * rows.T @ rows / len(rows)
    ridge = damping * max(float(np.mean(np.diag(moment))), float(np.finfo(float).tiny))
    return np.asarray(moment + ridge * np.eye(len(moment)))


def columns(
    weight: npt.ArrayLike,
    inputs: npt.ArrayLike,
    scheme: Scheme,
    *,
    damping: float = DAMPING,
) -> Iterator[ColumnStep]:
    """Quantize a weight [out, in] for inputs [n, in], one input column a step.

    The scales of a group are those of its columns when the first of them is reached.

    Raises:
        ValueError: as :func:`hessian`; or the inputs have another width.
    """
    left = finite("weight", weight).copy()
    if np.shape(inputs)[-1] != left.shape[1]:
        raise ValueError(
            f"inputs must have {left.shape[1]} columns, as the weight, "
            f"got {np.shape(inputs)[-1]}"
        )
    inverse = np.linalg.inv(hessian(inputs, damping=damping))
    push = np.linalg.cholesky(inverse).T  # upper triangle, U with Uᵀ·U the inverse
    group, whole_scale = scheme.group or left.shape[1], scheme.tensor_scale(left)
    for at in range(left.shape[1]):
        if at % group == 0:
            scales = scheme.scales(left[:, at : at + group], whole_scale)
        before = left[:, at].copy()
        codes = round_with(before, scales, scheme.numbers)
        left[:, at] = scheme.numbers.decode(codes) * scales
        error = (before - left[:, at]) / push[at, at]
        left[:, at + 1 :] -= np.outer(error, push[at, at + 1 :])
        yield ColumnStep(at, before, left[:, at].copy(), left.copy())


def gptq(
    weight: npt.ArrayLike,
    inputs: npt.ArrayLike,
    scheme: Scheme,
    *,
    damping: float = DAMPING,
) -> Array:
    """The weight [out, in] as GPTQ rounds it; arguments as of :func:`columns`."""
    *_, last = columns(weight, inputs, scheme, damping=damping)
    return last.weight


def rtn(weight: npt.ArrayLike, scheme: Scheme) -> Array:
    """The weight [out, in] rounded to nearest."""
    return quantize(weight, scheme).dequantize()


def output_error(
    weight: npt.ArrayLike, rounded: npt.ArrayLike, inputs: npt.ArrayLike
) -> float:
    """Relative error of the outputs: what a layer with the rounded weight does."""
    rows, true = np.asarray(inputs), np.asarray(weight)
    wrong = rows @ (np.asarray(rounded) - true).T
    return float(np.linalg.norm(wrong) / np.linalg.norm(rows @ true.T))
