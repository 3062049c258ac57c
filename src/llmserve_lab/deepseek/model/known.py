"""Formulas are told what is known, results on the way included, and ask for no more."""

from __future__ import annotations

from functools import cache
from typing import Any

from llmserve_lab.formula.formula import Formula

Numbers = dict[str, Any]


def computed(formula: Formula, known: Numbers) -> Any:
    """Compute with intermediate results where ``known`` has them."""
    asked = _asked(formula, frozenset(known))
    return formula(**{name: known[name] for name in asked})


@cache
def _asked(formula: Formula, given: frozenset[str]) -> tuple[str, ...]:
    """What ``formula`` has to be told by somebody who knows all that is ``given``."""
    return tuple(leaf.name for leaf in formula.leaves(keep=given))
