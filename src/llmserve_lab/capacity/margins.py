"""What a plan costs by how far the simulated goodput is off: whole replicas, a spare.

Replicas are whole, so a small error may buy one, and a large one none.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from llmserve_lab.capacity import mlperf
from llmserve_lab.capacity.day import HIGHEST, HOURS
from llmserve_lab.capacity.followed import month_usd
from llmserve_lab.capacity.measured import rate_error, rates_at, real
from llmserve_lab.capacity.tables import UNSEEN
from llmserve_lab.capacity.triangle import LEVEL
from llmserve_lab.checks import at_least, positive
from llmserve_lab.page.table import Table

SPARE = 1


@dataclass(frozen=True)
class Margin:
    """A plan for the day's peak, if the simulated rate is off by a share."""

    off: float
    goodput: float
    replicas: int

    @property
    def month_usd(self) -> float:
        """Dollars of a month, the spare included."""
        return month_usd(self.replicas * HOURS)


def planned(goodput: float, off: float, spare: int = SPARE) -> Margin:
    """Replicas for the peak at the goodput that is real if the error is ``off``."""
    positive("goodput", goodput)
    at_least("spare", spare, 0)
    per_s = real(goodput, off)
    return Margin(off, per_s, ceil(HIGHEST / per_s) + spare)


def errors() -> tuple[float, float, float, float]:
    """The largest error known, none, and those at the measured TPOT of two servers."""
    _, most = rate_error()
    measured, ours = rates_at(LEVEL.tpot_s)
    return most, 0.0, mlperf.error_at_tpot(), ours / measured - 1


def compared(goodput: float) -> tuple[Margin, ...]:
    """The plan under each of these errors."""
    return tuple(planned(goodput, off) for off in errors())


def table(goodput: float) -> Table:
    """Table of the plan under each assumption about the simulator."""
    rows = [
        (
            said(each.off),
            f"{each.goodput:.2f}",
            f"{HIGHEST / each.goodput:.2f}",
            f"{each.replicas}",
            f"{each.month_usd:,.0f}",
        )
        for each in compared(goodput)
    ]
    peak = f"{HIGHEST:.0f} over it"
    columns = ("simulated rates are", "goodput", peak, "replicas, one spare", "$/month")
    caption = (
        "The plan by how far the simulator is off: goodput of one H100 for the "
        "recorded traffic, replicas for the peak and a spare, dollars a month at "
        "October's price"
    )
    return Table(caption, columns, rows, band=UNSEEN)


def said(off: float) -> str:
    """An error of the simulated rates, as it heads a row."""
    if not off:
        return "right"
    return f"{abs(off):.0%} too {'high' if off > 0 else 'low'}"
