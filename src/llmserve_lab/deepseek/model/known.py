"""Evaluate a formula, reusing intermediate results that are already known."""

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
    """Names of the arguments that ``formula`` needs when all of ``given`` is known."""
    return tuple(leaf.name for leaf in formula.leaves(keep=given))
