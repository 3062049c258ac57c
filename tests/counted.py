"""Each closed form is checked against something that counts; here is who counts what.

A chapter's tests hold ``counts*.py`` files whose functions play the mechanism out, step
by step, and return how often something happened. The gate in
``tests/formula/test_gates.py`` runs every one and fails for a formula that has none.
"""

from __future__ import annotations

import importlib
import math
import random
from collections import Counter as Counts
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import sympy

from llmserve_lab.checks import one_of
from llmserve_lab.formula.formula import Formula


@dataclass(frozen=True)
class Case:
    """Arguments, what was counted with them, and how the closed form is to be read.

    ``read`` turns a closed form over the reals into a whole count: ``math.ceil`` for
    "the first batch that …", ``math.floor`` for "as many as fit".
    """

    values: Mapping[str, float]
    counted: float
    read: Callable[[float], float] = field(default=float)

    def agrees(self, formula: Formula) -> bool:
        """Whether the closed form gives what was counted, to nine digits."""
        closed = self.read(float(formula(**self.values)))
        return math.isclose(closed, self.counted, rel_tol=1e-9, abs_tol=1e-12)


Counter = Callable[[random.Random], Case]
COUNTED: dict[Formula, Counter] = {}
# executed: the mechanism itself runs, and a meter counts what it did;
# enumerated: something smaller plays it out, item by item, step by step;
# unrolled: the author's own steps once more. It catches slips of the pen alone, and
# says why nothing executes its formula.
Kind = Literal["executed", "enumerated", "unrolled"]
KINDS: dict[Formula, Kind] = {}
WHY: dict[Formula, str] = {}


def counts(
    formula: Formula, *, by: Kind, why: str = ""
) -> Callable[[Counter], Counter]:
    """Register a function that counts what ``formula`` states in closed form.

    ``why`` says of a count that is unrolled why nothing executes its formula.
    """
    one_of("by", by, Kind)
    if (by == "unrolled") != bool(why):
        raise ValueError(
            f"why must say of {formula.label} why nothing executes it if its count is "
            f"unrolled, and only then, got {why!r} for {by}"
        )
    KINDS[formula] = by
    if why:
        WHY[formula] = why

    def register(counter: Counter) -> Counter:
        if formula in COUNTED:
            raise ValueError(f"{formula.label} is counted twice")
        COUNTED[formula] = counter
        return counter

    return register


@cache
def cases(formula: Formula) -> list[Case]:
    """The formula's mechanism, played out; more often if each branch needs a turn."""
    branches = formula.teaching.has(sympy.Min, sympy.Max, sympy.Piecewise)
    seeds = range(10 if branches else 6)
    return [COUNTED[formula](random.Random(seed)) for seed in seeds]


def share_of_kinds() -> str:
    """How many counts there are of each kind, in words."""
    each = Counts(KINDS.values())
    return ", ".join(f"{each[kind]} {kind}" for kind in get_args(Kind))


def load(folder: Path) -> None:
    """Import every ``counts*.py`` one level below the tests' folder."""
    for path in sorted(folder.glob("*/counts*.py")):
        importlib.import_module(f"tests.{path.parent.name}.{path.stem}")
