"""How served iterations differ from the bound: hiding only part of the shorter time.

Not formulas but the laws that formulas of several chapters are made with, in the form
that the constants of :mod:`llmserve_lab.validation` were fitted with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import maximum, minimum, symbolic

if TYPE_CHECKING:
    import sympy

    from llmserve_lab.formula.formula import Formula
    from llmserve_lab.formula.quantity import Quantity

__all__ = ["partly_hidden", "reached_s"]


def partly_hidden(compute_s: Any, read_s: Any, overlap: Any) -> Any:
    """Time of computing and reading: the longer, and what is not hidden of the shorter.

    Args:
        compute_s: seconds of arithmetic, a symbol or a number.
        read_s: seconds of reading.
        overlap: share of the shorter one that is hidden behind the longer, 0 to 1.
    """
    exposed_s = (1 - overlap) * minimum(compute_s, read_s)
    return maximum(compute_s, read_s) + exposed_s


def reached_s(flops: Formula, counted: Quantity) -> sympy.Expr:
    """How long FLOPs take at what is reached of the peak, in terms of ``counted``."""
    per_s = q.peak_flops.sympy * q.eff_compute.sympy
    return symbolic(flops, (counted,)) / per_s
