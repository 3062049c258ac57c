"""Article 05: iteration-level scheduling, the mixed iteration, and chunked prefill."""

from llmserve_lab.claims.article_05 import chunks, section_3, section_3_2, sections_1_3

CLAIMS = (*sections_1_3.CLAIMS, *section_3.CLAIMS, *section_3_2.CLAIMS, *chunks.CLAIMS)
