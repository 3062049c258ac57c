"""How much of the sources has been recomputed."""

from __future__ import annotations

from collections import Counter

from llmserve_lab.claims.all_claims import CLAIMS
from llmserve_lab.claims.sources import CLAIM_COUNTS
from llmserve_lab.claims.verdict import Ruling


def recorded() -> dict[str, int]:
    """Records per source, in the order of the sources; sources without any at 0."""
    found = Counter(each.source.name for each in CLAIMS.values() if each.counted)
    return {name: found[name] for name in CLAIM_COUNTS}


def verdicts(source: str) -> dict[Ruling, int]:
    """Records of one source per verdict, all five of them."""
    own = (c for c in CLAIMS.values() if c.source.name == source and c.counted)
    found = Counter(claim.verdict for claim in own)
    return {verdict: found[verdict] for verdict in Ruling}


def coverage() -> str:
    """One line: claims recorded over claims there are."""
    found, total = sum(recorded().values()), sum(CLAIM_COUNTS.values())
    return f"{found} of {total} claims are recorded and judged"
