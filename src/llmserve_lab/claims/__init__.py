"""What the sources say, recomputed: one record a claim, with a verdict and a reason."""

from __future__ import annotations

from llmserve_lab.claims.coverage import coverage
from llmserve_lab.claims.page import (
    claims_table,
    slips_table,
    verdict_legend,
    verdict_summary,
)
from llmserve_lab.claims.record import Claim, Number, Statement, judge
from llmserve_lab.claims.records import CLAIMS
from llmserve_lab.claims.sources import CLAIM_COUNTS, SOURCES, SourceText
from llmserve_lab.claims.verdict import Ruling

__all__ = [
    "CLAIMS",
    "CLAIM_COUNTS",
    "SOURCES",
    "Claim",
    "Number",
    "Ruling",
    "SourceText",
    "Statement",
    "claims_table",
    "coverage",
    "judge",
    "slips_table",
    "verdict_legend",
    "verdict_summary",
]
