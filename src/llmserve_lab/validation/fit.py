"""Six constants from measured rows: least squares of logarithms, outliers damped.

TPOT counts in full. TTFT counts for less, since it holds a queue, and for least where
the protocol of a row is not public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from llmserve_lab.validation.constants import ServingConstants
from llmserve_lab.validation.prediction import Predictor
from llmserve_lab.validation.unit_work import Floats

FREE = ("memory", "compute", "layer_s", "link", "request_s", "client_s")
WITH_EXPONENT = (*FREE, "exponent")
START = ServingConstants(
    memory=0.9, compute=0.7, layer_s=6e-5, link=0.5, request_s=2e-5, client_s=0.03
)
TPOT_DAMPED, TTFT_DAMPED = 0.02, 0.05  # relative errors from where on they are linear
TTFT_WEIGHT, UNKNOWN_WEIGHT = 0.12, 0.05  # beside 1 for TPOT


def fit(
    predictor: Predictor,
    *,
    free: tuple[str, ...] = FREE,
    start: ServingConstants = START,
) -> ServingConstants:
    """The constants that come nearest to the measured times of all rows.

    ``free`` names those that are fitted; the others stay as in ``start``.

    Raises:
        ValueError: there are fewer measured times than constants to be fitted.
    """
    if 2 * len(predictor.rows) < len(free):
        raise ValueError(
            f"predictor must have half as many rows as constants are free, "
            f"{len(free)}, or more, got {len(predictor.rows)}"
        )
    from llmserve_lab.extras import optimize

    begin = np.log([getattr(start, name) for name in free])
    residuals = _residuals(predictor, free, start)
    found = optimize.least_squares(residuals, begin, x_scale=0.1)
    return _with(start, free, found.x)


def loss(predictor: Predictor, constants: ServingConstants) -> float:
    """What the fit makes small: half the sum of squared residuals."""
    rest = _residuals(predictor, FREE, constants)(
        np.log([getattr(constants, name) for name in FREE])
    )
    return float(rest @ rest / 2)


def damped(error: Floats, knee: float) -> Floats:
    """Residual whose square grows like error² up to a knee, and linearly beyond."""
    grown: Floats = np.sqrt(2 * (np.sqrt(1 + (error / knee) ** 2) - 1))
    return np.sign(error) * knee * grown


def _with(
    start: ServingConstants, free: tuple[str, ...], logs: Floats
) -> ServingConstants:
    values = {
        name: float(value) for name, value in zip(free, np.exp(logs), strict=True)
    }
    return replace(start, **values)


def _residuals(
    predictor: Predictor, free: tuple[str, ...], start: ServingConstants
) -> Callable[[Floats], Floats]:
    measured = predictor.measured
    weight = np.sqrt(np.where(predictor.public, TTFT_WEIGHT, UNKNOWN_WEIGHT))

    def residuals(logs: Floats) -> Floats:
        times = predictor.predict(_with(start, free, logs))
        tpot = damped(np.log(times.tpot / measured.tpot), TPOT_DAMPED)
        ttft = damped(np.log(times.ttft / measured.ttft), TTFT_DAMPED)
        return np.concatenate([tpot, weight * ttft])

    return residuals
