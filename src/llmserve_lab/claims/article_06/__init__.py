"""Article 06, sections 1 to 3: the roofline, the cost of an iteration, both tables."""

from llmserve_lab.claims.article_06 import cache, cost, hierarchy, phases, tables

CLAIMS = (
    *hierarchy.CLAIMS,
    *cost.CLAIMS,
    *cache.CLAIMS,
    *tables.CLAIMS,
    *phases.CLAIMS,
)
