"""Accepted drafts by position: two laws, on the two curves of this page."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from llmserve_lab.catalog.evidence.serving import DRAFT_CURVES
from llmserve_lab.validation.drafts import KNOWN, DraftFit, fitted

DRAFTS, FITTED_AT = 8, (1, KNOWN)


def fits() -> tuple[DraftFit, ...]:
    """Both laws for the page's published curves."""
    return tuple(map(fitted, DRAFT_CURVES))


@dataclass(frozen=True)
class DraftedTokens:
    """Tokens accepted a step of a curve at so many drafts: measured, by the law."""

    n_draft: int
    measured: float
    law: float

    @property
    def fitted(self) -> bool:
        """Whether the law was fitted there."""
        return self.n_draft in FITTED_AT


def drafted_tokens() -> tuple[tuple[DraftedTokens, ...], ...]:
    """By number of drafts, each curve of the page beside its falling law."""
    return tuple(
        tuple(
            DraftedTokens(k, fit.curve.tokens[k - 1], fit.falling.tokens(k))
            for fit in fits()
        )
        for k in range(1, DRAFTS + 1)
    )


def drafts_error(law: str) -> float:
    """Mean size of a law's errors, both curves, where it was not fitted."""
    return mean(
        abs(fit.error(getattr(fit, law), k))
        for fit in fits()
        for k in range(1, DRAFTS + 1)
        if k not in FITTED_AT
    )
