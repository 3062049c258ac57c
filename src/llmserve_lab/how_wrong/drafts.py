"""Accepted drafts by position: constant acceptance, and one that falls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llmserve_lab.catalog.evidence.serving import DRAFT_CURVES, DraftCurve

KNOWN = 4  # drafts at which the falling law is fitted, beside one


def tokens(drafts: int, acceptance: Callable[[int], float]) -> float:
    """Mean tokens of a step: one of the target's own, and each draft that survives.

    ``acceptance(j)`` is the chance that draft j (from 1) is kept if all before it were.
    """
    kept, total = 1.0, 1.0
    for position in range(1, drafts + 1):
        kept *= acceptance(position)
        total += kept
    return total


@dataclass(frozen=True)
class DraftFit:
    """Both laws for one curve, and their relative errors at its last point."""

    curve: DraftCurve
    alpha: float
    falls: float
    constant_error: float
    falling_error: float


def fitted(curve: DraftCurve) -> DraftFit:
    """Fit a constant acceptance at one draft, and α·r^(j−1) at one and at four."""
    from llmserve_lab.extras import optimize

    alpha, most = curve.tokens[0] - 1, len(curve.tokens)

    def falling(ratio: float) -> Callable[[int], float]:
        return lambda position: alpha * ratio ** (position - 1)

    def excess(ratio: float) -> float:
        return tokens(KNOWN, falling(ratio)) - curve.tokens[KNOWN - 1]

    ratio = float(optimize.brentq(excess, 0.1, 1.5))
    last = curve.tokens[-1]
    return DraftFit(
        curve,
        alpha,
        ratio,
        tokens(most, lambda _: alpha) / last - 1,
        tokens(most, falling(ratio)) / last - 1,
    )


def fits() -> tuple[DraftFit, ...]:
    """Both laws for every published curve."""
    return tuple(fitted(curve) for curve in DRAFT_CURVES)
