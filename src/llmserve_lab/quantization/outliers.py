"""Outlier channels: why one scale for many numbers is too few. Synthetic matrices.

Trained models have a few channels that are far larger than the others (Xiao et al. 2022
found them in activations). The book's random weights have none, so some are planted.
"""

from __future__ import annotations

import numpy as np

from llmserve_lab.checks import positive, whole
from llmserve_lab.quantization.codecs import INT4, Array
from llmserve_lab.quantization.schemes import SCHEMES, Scheme, quantize, relative_error

ROWS, COLUMNS, NUM_OUTLIERS, TIMES = 256, 512, 4, 20.0
TENSOR = "one scale for all"


def matrix(*, num_outliers: int = NUM_OUTLIERS, times: float = TIMES) -> Array:
    """A made-up matrix [256, 512]: normal, with a few columns ``times`` as large.

    With such columns it is like activations, without them like most weights.

    Raises:
        ValueError: there are not so many columns.
    """
    whole(first=0, num_outliers=num_outliers)
    if num_outliers > COLUMNS:
        raise ValueError(f"num_outliers must be at most {COLUMNS}, got {num_outliers}")
    positive("times", times)
    rng = np.random.default_rng(4)
    made = rng.standard_normal((ROWS, COLUMNS))
    made[:, rng.choice(COLUMNS, size=num_outliers, replace=False)] *= times
    return made


def ordinary_error(x: Array, rounded: Array) -> float:
    """Relative error of the columns that are no outliers."""
    usual = np.abs(x).max(axis=0) < TIMES / 3
    return relative_error(x[:, usual], rounded[:, usual])


def by_draw(group: int, *, draws: int = 60) -> tuple[float, float]:
    """Least and greatest error of INT4 over draws of the places of the outliers."""
    whole(of="draw", most=10_000, draws=draws)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, COLUMNS))
    found = []
    for _ in range(draws):
        made = x.copy()
        made[:, rng.choice(COLUMNS, size=NUM_OUTLIERS, replace=False)] *= TIMES
        rounded = quantize(made, Scheme("", "", INT4, "fp16", group)).dequantize()
        found.append(ordinary_error(made, rounded))
    return min(found), max(found)


def loud_share() -> float:
    """Share of the squared size of the matrix that its outlier columns hold."""
    x = matrix()
    loud = np.abs(x).max(axis=0) >= TIMES / 3
    return float(np.sum(x[:, loud] ** 2) / np.sum(x**2))


def by_group(x: Array) -> dict[str, float]:
    """Error of INT4 on the ordinary columns, for finer and finer groups."""
    found = {TENSOR: ordinary_error(x, _one_scale(x))}
    for group in (0, 128, 32, 16):
        made = Scheme("", "", INT4, "fp16", group)
        name = f"groups of {group}" if group else "a scale a row"
        found[name] = ordinary_error(x, quantize(x, made).dequantize())
    return found


def by_scheme(key: str, *, num_outliers: int = NUM_OUTLIERS) -> tuple[float, float]:
    """Bits of a number, and error of the ordinary columns, in a format of the page."""
    x = matrix(num_outliers=num_outliers)
    rounded = quantize(x, SCHEMES[key]).dequantize()
    return SCHEMES[key].bits_per_number(COLUMNS), ordinary_error(x, rounded)


def _one_scale(x: Array) -> Array:
    flat = x.reshape(1, -1)
    return quantize(flat, Scheme("", "", INT4, "fp16")).dequantize().reshape(x.shape)
