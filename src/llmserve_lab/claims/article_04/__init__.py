"""Article 04: many requests in one forward pass, each claim about it run again."""

from llmserve_lab.claims.article_04 import beyond, square

CLAIMS = (*square.CLAIMS, *beyond.CLAIMS)
