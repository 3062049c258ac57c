"""All records of the book in one place, in the order of their ids."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from llmserve_lab.claims import (
    afd,
    article_01,
    article_02_03,
    article_04,
    article_05,
    article_06,
    article_07,
    deepseek,
    scaling,
    scaling_batching,
    scaling_context,
    scaling_cost,
    scaling_memory,
    scaling_speculation,
)
from llmserve_lab.claims.claim import Claim


def by_id(*claims: Claim) -> Mapping[str, Claim]:
    """Put claims in order, each under its id.

    Raises:
        ValueError: an id is used twice.
    """
    found: dict[str, Claim] = {}
    for claim in sorted(claims, key=lambda claim: claim.id):
        if claim.id in found:
            raise ValueError(f"id must be unique, got {claim.id} twice")
        found[claim.id] = claim
    return MappingProxyType(found)


CLAIMS = by_id(
    *afd.CLAIMS,
    *article_01.CLAIMS,
    *article_02_03.CLAIMS,
    *article_04.CLAIMS,
    *article_05.CLAIMS,
    *article_06.CLAIMS,
    *article_07.CLAIMS,
    *deepseek.CLAIMS,
    *scaling.CLAIMS,
    *scaling_cost.CLAIMS,
    *scaling_batching.CLAIMS,
    *scaling_memory.CLAIMS,
    *scaling_context.CLAIMS,
    *scaling_speculation.CLAIMS,
)
