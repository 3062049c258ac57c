"""How much of the sources has been recomputed."""

from __future__ import annotations

from collections import Counter

from llmserve_lab.claims.records import CLAIMS
from llmserve_lab.claims.sources import CLAIM_COUNTS
from llmserve_lab.claims.verdict import Ruling


def recorded() -> dict[str, int]:
    """Records per source, in the order of the sources; sources without any at 0."""
    found = Counter(claim.source.name for claim in CLAIMS.values())
    return {name: found[name] for name in CLAIM_COUNTS}


def verdicts(source: str) -> dict[Ruling, int]:
    """Records of one source per verdict, all five of them."""
    found = Counter(c.verdict for c in CLAIMS.values() if c.source.name == source)
    return {verdict: found[verdict] for verdict in Ruling}


def coverage() -> str:
    """One line: claims recorded over claims there are, in all and by source."""
    parts = [
        f"{name}: {count} of {CLAIM_COUNTS[name]}"
        for name, count in recorded().items()
        if count
    ]
    total = sum(CLAIM_COUNTS.values())
    return f"claims: {len(CLAIMS)} of {total} recorded ({'; '.join(parts)})"
