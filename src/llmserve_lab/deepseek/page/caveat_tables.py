"""Tables of what a prediction rests on: caveats, attribution, sensitivity."""

from __future__ import annotations

from llmserve_lab.deepseek.evaluation import (
    ablations,
    attribution,
    sensitivity,
)
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.setup import Setup
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.formula.text import signed
from llmserve_lab.page.table import Table

SEEN = 0.05  # the least change that is listed
CHANGED = Unmeasured("of few changes a pair of runs was measured; see the next fold")


def ladder() -> Table:
    """Errors of four published points on every rung."""
    rows = [
        (each.change, *("–" if e is None else signed(e) for e in each.errors))
        for each in attribution.ladder()
    ]
    names = (each.name.partition(", ")[2] for each in attribution.STOOD_ON)
    return Table("Error after each change, top down", ("and then", *names), rows)


def ablated(assumed: Assumptions) -> Table:
    """Published gains beside the twin's."""
    rows = [
        (
            each.change,
            signed(each.predicted - 1),
            " to ".join(signed(gain - 1) for gain in each.measured),
        )
        for each in ablations.ablations(assumed)
    ]
    return Table("Ablations", ("change", "predicted", "measured"), rows)


def swings(place: Setup, *, batches: tuple[float, ...], context: float) -> Table:
    """Every change that does something, for each of ``batches``."""
    found = [
        dict(sensitivity.swings(place, batch=batch, context=context))
        for batch in batches
    ]
    rows = [
        (name, *(signed(each[name]) for each in found))
        for name in sensitivity.changes()
        if max(abs(each[name]) for each in found) > SEEN - 0.005
    ]
    columns = ("change", *(f"{batch:.0f} requests" for batch in batches))
    title = "Change of tokens/s of a GPU, assumption by assumption"
    notes = [
        f"changes of less than {SEEN:.0%} in both columns are left out",
        "before and after in the faster schedule, unless the change names one, with "
        "the same requests: where memory limits them, caches in FP8 double them",
    ]
    return Table(title, columns, rows, notes, band=CHANGED)
