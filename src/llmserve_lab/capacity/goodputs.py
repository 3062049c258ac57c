"""The rates of one H100 that the page plans with, and where it uses which."""

from __future__ import annotations

from llmserve_lab.capacity import at_goodput, by_hand
from llmserve_lab.capacity.pools import H100
from llmserve_lab.capacity.record import recorded
from llmserve_lab.capacity.tables import UNSEEN
from llmserve_lab.page.table import Table


def table() -> Table:
    """Table of the rates of one H100, by what they are for."""
    own = float(recorded()["hour"]["goodput_per_s"])
    hand = by_hand.p90_rate(by_hand.times_of(H100))
    rows = [
        ("usual requests", f"{at_goodput.shown():.1f}", "cost, burst, headroom"),
        ("usual requests, by hand", f"{hand:.1f}", "choosing a GPU by a sum"),
        ("recorded traffic", f"{own:.2f}", "day, choice of a GPU, plan"),
    ]
    caption = "Which goodput when: rates of one H100 on this page"
    columns = ("of what", "requests/s", "used for")
    return Table(caption, columns, rows, band=UNSEEN)
