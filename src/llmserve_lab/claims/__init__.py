"""What the sources say, recomputed: one record a claim, with a verdict and a reason."""

from __future__ import annotations

from llmserve_lab.claims.all_claims import CLAIMS
from llmserve_lab.claims.claim import Claim, judge
from llmserve_lab.claims.coverage import coverage
from llmserve_lab.claims.deciding import DecidingClaims
from llmserve_lab.claims.page import (
    ClaimsAboutText,
    ClaimsOf,
    rules,
    source_legend,
    verdict_legend,
    verdict_summary,
)
from llmserve_lab.claims.parts import Number, Passages, Size, Statement
from llmserve_lab.claims.sources import CLAIM_COUNTS, SOURCES, SourceText
from llmserve_lab.claims.verdict import FALSE, OFF, Ruling

__all__ = [
    "CLAIMS",
    "CLAIM_COUNTS",
    "FALSE",
    "OFF",
    "SOURCES",
    "Claim",
    "ClaimsAboutText",
    "ClaimsOf",
    "DecidingClaims",
    "Number",
    "Passages",
    "Ruling",
    "Size",
    "SourceText",
    "Statement",
    "coverage",
    "judge",
    "rules",
    "source_legend",
    "verdict_legend",
    "verdict_summary",
]
