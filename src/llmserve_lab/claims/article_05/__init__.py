"""Article 05: iteration-level scheduling, the mixed iteration, and chunked prefill."""

from llmserve_lab.claims.article_05 import chunks, heartbeat, mixes, peers

CLAIMS = (*heartbeat.CLAIMS, *mixes.CLAIMS, *peers.CLAIMS, *chunks.CLAIMS)
