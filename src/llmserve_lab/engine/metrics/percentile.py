"""Percentiles: one function, and the two rules that serving benchmarks use."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Literal

import numpy as np
import numpy.typing as npt

from llmserve_lab.checks import of_type, one_of

Floats = npt.NDArray[np.float64] | Sequence[float]
Percentile = Literal["linear", "inverted_cdf"]  # the rules, named as NumPy names them


def percentile(values: Floats, q: float, *, method: Percentile = "linear") -> float:
    """Percentile of some values, by default as NumPy and vLLM take it.

    Args:
        values: at least one, in any order.
        q: in percent.
        method: ``linear`` interpolates between the two values next to the place
            (N − 1)·q/100 in the sorted list; ``inverted_cdf`` returns the smallest
            value that at least ``q`` % do not exceed, as GuideLLM does.

    Raises:
        ValueError: there is no value, ``q`` is not in [0, 100], or the method is
            another.
    """
    check_percentile(q, method)
    if not np.size(values):
        raise ValueError("values must hold at least one value, got none")
    return float(np.percentile(values, q, method=method))


def check_percentile(q: float, method: Percentile) -> None:
    """Refuse a percentile beyond 100, and a rule that is not one of the two."""
    of_type(Real, q=q)
    if not 0 <= q <= 100:
        raise ValueError(f"q must be in [0, 100], got {q}")
    one_of("method", method, Percentile)
