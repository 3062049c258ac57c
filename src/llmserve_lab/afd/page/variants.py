"""What was changed on both sides alike, and the split's lead with each change.

All at 50 ms per token, with a copy of a row for each of its experts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

from llmserve_lab.afd.page.comparison import (
    CONTEXTS,
    DEVICES,
    OVERLAPS,
    SPREAD,
    TIGHT_S,
    every_lead,
    lead,
)
from llmserve_lab.afd.page.tables import NEVER
from llmserve_lab.afd.page.verdict import (
    ADDED,
    EVERY,
    FREE,
    HALF,
    TWICE,
    as_is,
    by_choices,
    with_head,
    without_host,
)
from llmserve_lab.catalog import accelerator
from llmserve_lab.page.table import Table

# Kinds of changes: GPUs, contexts and overlap are combined, the others come one by one.
COMBINED = ("GPU", "context", "overlap")
ALONE = ("choices", "network", "unequal contexts", "LM head", "host")


@dataclass(frozen=True)
class Variant:
    """The split's lead with one change, by its kind; of 8,192 tokens, too, if asked."""

    kind: str
    what: str
    lead: float
    longer: float | None = None

    @property
    def leads(self) -> tuple[float, ...]:
        """Each of them."""
        return (self.lead,) if self.longer is None else (self.lead, self.longer)


@cache
def variants() -> tuple[Variant, ...]:
    """Every variant: GPUs by overlap first, then one thing changed on the H100."""
    every, ms = every_lead(), round(1e3 * TIGHT_S)
    grid = (
        Variant(
            "combined",
            f"{accelerator(gpu).name}, overlap {overlap}",
            *(every[gpu, ms, overlap, context] for context in CONTEXTS),
        )
        for gpu, overlap in product(DEVICES, OVERLAPS)
    )
    chosen = (
        Variant("choices", f"chosen: {what}", by_choices(each).lead)
        for what, each in [*ADDED.items()][1:]
    )
    network = (
        Variant("network", "network half as fast", as_is(off=HALF).lead),
        Variant("network", "network twice as fast", as_is(off=TWICE).lead),
        Variant("network", "no time on the wire", as_is(off=FREE).lead),
        Variant("network", "the same, all chosen", by_choices(EVERY, off=FREE).lead),
    )
    unequal = (
        Variant(
            "unequal contexts",
            f"contexts differ, overlap {overlap}",
            lead(DEVICES[0], TIGHT_S, overlap=overlap, spread=SPREAD),
        )
        for overlap in OVERLAPS
    )
    rest = (
        Variant("LM head", "LM head in BF16", with_head().lead),
        Variant("host", "no waiting for the host", without_host().lead),
    )
    return (*grid, *chosen, *network, *unequal, *rest)


def leads() -> tuple[float, ...]:
    """The leads of all variants."""
    return tuple(lead for each in variants() for lead in each.leads)


def variants_table() -> Table:
    """Table of all variants: the split's lead with contexts of 4,096, and of 8,192."""

    def shown(lead: float | None) -> str:
        return "" if lead is None else f"{lead:+.0%}".replace("-", "−")

    rows = [(each.what, shown(each.lead), shown(each.longer)) for each in variants()]
    columns = ("both sides alike", *(f"{tokens:,.0f} tokens" for tokens in CONTEXTS))
    caption = "The split's lead at 50 ms, a row sent 8 times: all variants"
    return Table(caption, columns, rows, band=NEVER)
