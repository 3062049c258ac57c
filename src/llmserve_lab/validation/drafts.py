"""Acceptance laws fitted to published curves, and how far off each is."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.catalog.evidence.serving import DraftCurve
from llmserve_lab.engine import Acceptance

KNOWN = 4  # drafts at which the falling law is fitted, beside one


@dataclass(frozen=True)
class DraftFit:
    """A constant acceptance and a falling one, both fitted to one curve."""

    curve: DraftCurve
    constant: Acceptance
    falling: Acceptance

    def error(self, law: Acceptance, n_draft: int) -> float:
        """Relative error of a law at ``n_draft`` drafts of the curve."""
        return law.tokens(n_draft) / self.curve.tokens[n_draft - 1] - 1

    def errors(self, law: Acceptance) -> tuple[float, ...]:
        """Relative errors at two drafts and more."""
        return tuple(self.error(law, k) for k in range(2, len(self.curve.tokens) + 1))

    @property
    def alpha(self) -> float:
        """The rate α of both laws."""
        return self.constant.rate

    @property
    def falls(self) -> float:
        """The factor r of the falling law."""
        return self.falling.falls

    @property
    def constant_error(self) -> float:
        """Error of constant acceptance at the last point."""
        return self.error(self.constant, len(self.curve.tokens))

    @property
    def falling_error(self) -> float:
        """Error of the falling law at the last point."""
        return self.error(self.falling, len(self.curve.tokens))


def fitted(curve: DraftCurve) -> DraftFit:
    """Fit a constant acceptance at one draft, and α·r^(j−1) at one and at four.

    Raises:
        ValueError: the curve has fewer than four points, or rises from one draft to
            four faster than a constant acceptance can explain.
    """
    from llmserve_lab.extras import optimize

    if len(curve.tokens) < KNOWN:
        raise ValueError(f"curve must have {KNOWN} points, got {len(curve.tokens)}")
    alpha = curve.tokens[0] - 1

    def excess(falls: float) -> float:
        return Acceptance(alpha, falls).tokens(KNOWN) - curve.tokens[KNOWN - 1]

    if not excess(0.0) <= 0 <= excess(1.0):
        raise ValueError(
            f"tokens at {KNOWN} drafts must lie between those of one draft and of "
            f"constant acceptance, got {curve.tokens[KNOWN - 1]}"
        )
    falls = float(optimize.brentq(excess, 0.0, 1.0, xtol=1e-14))
    return DraftFit(curve, Acceptance(alpha), Acceptance(alpha, falls))
