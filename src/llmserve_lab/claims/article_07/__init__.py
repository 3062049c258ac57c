"""Article 07: mixture of experts and expert parallelism, each claim run again."""

from llmserve_lab.claims.article_07 import experts, meaning, node, sizes

CLAIMS = (*sizes.CLAIMS, *meaning.CLAIMS, *experts.CLAIMS, *node.CLAIMS)
