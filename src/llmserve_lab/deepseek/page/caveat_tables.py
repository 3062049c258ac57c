"""Tables of what a prediction rests on: caveats, attribution, sensitivity."""

from __future__ import annotations

from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import (
    ablations,
    attribution,
    caveats,
    sensitivity,
)
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.setup import Setup
from llmserve_lab.deepseek.page.tables import per_cent
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.formula.text import plain, signed
from llmserve_lab.page.table import Table

CHANGED = Unmeasured("of few changes a pair of runs was measured; see the next fold")


def balance(assumed: Assumptions) -> Table:
    """Every point's error at other balancednesses, and at the assumed one."""
    found = caveats.by_balance(assumed)
    rows = [
        (each[0].name, *(signed(point.error) for point in each))
        for each in zip(*found.values(), strict=True)
    ]
    columns = ("deployment", *(plain(tried) for tried in found))
    return Table("Error by balancedness", columns, rows)


def busy(assumed: Assumptions) -> Table:
    """How much of each full machine's rate a day's prefill came to."""
    rows = [
        (each.name, plain(each.tokens_per_s), per_cent(each.day_share))
        for each in caveats.full_machines(assumed)
    ]
    columns = ("a full machine", "tokens/s of a GPU", "the day's mean is")
    return Table("How busy was DeepSeek's prefill?", columns, rows)


def few_requests(assumed: Assumptions) -> Table:
    """Steps with few requests: measured, predicted, by kernels and links alone."""
    rows = [
        (
            f"{each.point.name}, context {each.context:,.0f}",
            *(f"{1e3 * s:.1f} ms" for s in (each.without_host_s, each.predicted_s)),
            f"{1e3 * each.step_s:.1f} ms",
            signed(each.point.error),
            each.point.status,
        )
        for each in caveats.few_requests(assumed)
    ]
    columns = (
        *("deployment", "kernels, links", "and host", "measured", "error of the rate"),
        "the run was",
    )
    return Table("A step with few requests on a GPU", columns, rows)


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
    """Every change and what it does, for each of ``batches``."""
    found = [
        dict(sensitivity.swings(place, batch=batch, context=context))
        for batch in batches
    ]
    rows = [
        (name, *(signed(each[name]) for each in found))
        for name in sensitivity.changes()
    ]
    columns = ("change", *(f"{batch:.0f} requests" for batch in batches))
    title = "Change of tokens/s of a GPU, assumption by assumption"
    notes = ["before and after in the faster schedule, unless the change names one"]
    return Table(title, columns, rows, notes, band=CHANGED)


def silent(place: Setup, *, context: float) -> Table:
    """Assumptions that no decode step feels: of prefill and of memory."""
    found = sensitivity.silent(place, context=context)
    rows = [(each.change, each.what, signed(each.by)) for each in found]
    title = f"What a decode step does not feel: {context:,.0f} tokens"
    return Table(title, ("change", "of what", "by"), rows, band=CHANGED)


def before_rebalancing() -> Table:
    """Balancedness before rebalancing that the measured gains would need."""
    ours = book_assumptions()
    rows = [
        (phase, plain(ablations.balance_before(phase, ours)))
        for phase in ablations.REBALANCED
    ]
    columns = ("experts rebalanced", "balancedness before, if the twin is right")
    return Table("How uneven it must have been", columns, rows)
