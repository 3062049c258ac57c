"""Table of the blind test: one H100 by itself, pass by pass, beside three machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from statistics import fmean

from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.engine import IterationCost
from llmserve_lab.formula.text import signed
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import cost, datasheet
from llmserve_lab.validation.one_gpu import (
    OPENED,
    PassScore,
    Sort,
    compared,
    mean_error,
)

SORTS: dict[Sort, str] = {
    "decode": "decode steps",
    "prompt": "whole prompts",
    "chunk": "chunks beside decodes",
}


def without_host() -> IterationCost:
    """The fitted machine without what it charges a server's host for.

    That is the time of a request, and the launches that an iteration with a prompt
    makes beyond those of any other.
    """
    return replace(cost(), request_s=0.0, prompt_s=0.0)


MACHINES: dict[str, Callable[[], IterationCost]] = {
    "datasheet": datasheet,
    "fitted": cost,
    "fitted, no host": without_host,
}


@cache
def errors(machine: str, sort: Sort) -> tuple[PassScore, ...]:
    """Passes of a sort beside their predictions by a machine.

    Raises:
        KeyError: there is no machine of this name.
    """
    found = compared(MACHINES[machine]())
    return tuple(each for each in found if each.sort == sort)


def means(machine: str) -> dict[Sort, float]:
    """Mean error of each sort of pass on a machine.

    Raises:
        KeyError: there is no machine of this name.
    """
    return {sort: mean_error(errors(machine, sort)) for sort in SORTS}


def blind() -> Table:
    """Mean error and bias of each sort of pass on each machine."""
    rows = []
    for sort, name in SORTS.items():
        cells = []
        for machine in MACHINES:
            found = errors(machine, sort)
            bias = signed(fmean(each.error for each in found), 0)
            cells.append(f"{per_cent(mean_error(found))} ({bias})")
        rows.append((name, f"{len(found) // 2}", *cells))
    return Table(
        "Mean error (and bias) of the time of an iteration on one H100",
        ("iterations", "sizes", *MACHINES),
        rows,
        notes=(
            f"{one_h100.as_note()}; each size timed twice, both are scored.",
            f"Blind until {OPENED.date}, but for the last column: which terms are the "
            "host's we said after the result.",
        ),
    )
