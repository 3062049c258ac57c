"""Article 06: the roofline, the cost of an iteration, both tables, and the split."""

from llmserve_lab.claims.article_06 import (
    cache,
    cost,
    hierarchy,
    phases,
    split,
    tables,
)

CLAIMS = (
    *hierarchy.CLAIMS,
    *cost.CLAIMS,
    *cache.CLAIMS,
    *tables.CLAIMS,
    *phases.CLAIMS,
    *split.CLAIMS,
)
