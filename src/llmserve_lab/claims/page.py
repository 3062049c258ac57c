"""The page "What the sources say": tables made from the records, nothing else."""

from __future__ import annotations

from llmserve_lab.claims.coverage import recorded, verdicts
from llmserve_lab.claims.record import Claim, Number, Statement
from llmserve_lab.claims.records import CLAIMS
from llmserve_lab.claims.sources import CLAIM_COUNTS
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.page.table import Cell, Table

COLUMNS = ("claim", "what it says", "printed → recomputed", "verdict")
EMPTY = "–"


def claims_table(source: str, *, section: str | None = None) -> Table:
    """Table of every recorded claim of a source, or of one of its sections.

    Raises:
        ValueError: the source, or the section, has no recorded claim.
    """
    own = _claims_of(source)
    found = [claim for claim in own if section in (None, claim.section)]
    if not found:
        known = ", ".join(dict.fromkeys(claim.section for claim in own))
        raise ValueError(f"section must be one of {known}, got {section!r}")
    where = source if section is None else f"{source}, {section}"
    return Table(f"Claims of {where}, recomputed", COLUMNS, [_row(c) for c in found])


def slips_table() -> Table:
    """Table of the claims that do not come out as printed, the worst first."""
    order = (Ruling.WRONG, Ruling.INCONSISTENT)
    slips = [c for verdict in order for c in CLAIMS.values() if c.verdict is verdict]
    return Table("What does not come out as printed", COLUMNS, [_row(c) for c in slips])


def verdict_summary() -> Table:
    """Table of sources by verdict: how many claims there are, and how they fare."""
    columns = ("source", "claims", "recorded", *map(str, Ruling))
    counts = {
        name: (CLAIM_COUNTS[name], count, *verdicts(name).values())
        for name, count in recorded().items()
    }
    counts["all"] = tuple(map(sum, zip(*counts.values(), strict=True)))
    rows: list[tuple[Cell, ...]] = [(name, *row) for name, row in counts.items()]
    return Table("Verdicts by source", columns, rows)


def verdict_legend() -> Table:
    """Table of what each verdict means."""
    rows = [(str(verdict), verdict.meaning) for verdict in Ruling]
    return Table("What a verdict means", ("verdict", "when"), rows)


def _claims_of(source: str) -> list[Claim]:
    found = [claim for claim in CLAIMS.values() if claim.source.name == source]
    if not found:
        known = ", ".join(name for name, count in recorded().items() if count)
        raise ValueError(f"source must be one of {known}, got {source!r}")
    return found


def _row(claim: Claim) -> tuple[str, ...]:
    """Four cells: a narrow page shows them without scrolling sideways."""
    verdict = f"{claim.verdict}. {claim.reason}" if claim.reason else str(claim.verdict)
    beside = "; ".join(map(_beside, claim.parts)) or EMPTY
    return claim.id, f"{claim.section}: {claim.says}", beside, verdict


def _beside(part: Number | Statement) -> str:
    right = part.right.removeprefix(part.label).strip()
    return f"{part.label} {part.printed} → {right}".strip()
