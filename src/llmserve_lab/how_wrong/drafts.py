"""Accepted drafts by position: two laws, on the two curves of this page."""

from __future__ import annotations

from llmserve_lab.catalog.evidence.serving import DRAFT_CURVES
from llmserve_lab.validation.drafts import DraftFit, fitted


def fits() -> tuple[DraftFit, ...]:
    """Both laws for the page's published curves."""
    return tuple(map(fitted, DRAFT_CURVES))
