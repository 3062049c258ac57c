"""Every formula under awkward arguments: a finite number, or an error that names it."""

from __future__ import annotations

import math
import random
import re
import time
from typing import Any

import numpy as np
import pytest

from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.registry import formulas
from tests.formula.test_gates import draw

CALLS = 160  # of each formula, so that all of them take over 60,000
AWKWARD: tuple[Any, ...] = (
    0, -1, -0.0, 0.5, 1, 2.5, 1e-308, 5e-324, 1e308, 10**7, 2**63, 10**30,
    math.nan, math.inf, -math.inf, True, "", "8", b"8", None, [], {}, [1.0, math.nan],
    1j, object(), np.float64("nan"), np.array([1.0, -1.0]), np.array([[2.0], [3.0]]),
    np.array(["a"]), np.int64(3), range(3),
)  # fmt: skip
LONGEST_S = 5.0


def usual(formula: Formula, rng: random.Random) -> dict[str, Any]:
    """Arguments at which the formula holds."""
    while True:
        values: dict[str, Any] = {
            leaf.name: draw(leaf, rng) for leaf in formula.arguments
        }
        try:
            formula(**values)
        except ValueError:
            continue
        return values


def spoilt(formula: Formula, rng: random.Random) -> dict[str, Any]:
    """Usual arguments, of which one or two are awkward, missing or unknown."""
    values = usual(formula, rng)
    for name in rng.sample(sorted(values), k=min(rng.choice((1, 1, 2)), len(values))):
        values[name] = rng.choice(AWKWARD)
    if rng.random() < 0.03:
        del values[rng.choice(sorted(values))]
    if rng.random() < 0.03:
        values["nobody_asked"] = 1.0
    return values


def fault(formula: Formula, values: dict[str, Any]) -> str:
    """What is wrong with how the formula answers, empty if nothing is."""
    began = time.monotonic()
    try:
        found = formula(**values)
    except (TypeError, ValueError) as error:
        words = str(error)
        asked = (*values, *(leaf.name for leaf in formula.arguments))
        named = any(re.search(rf"\b{name}\b", words) for name in asked)
        return "" if named else f"names no argument: {words}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if time.monotonic() - began > LONGEST_S:
        return f"took {time.monotonic() - began:.1f} s"
    return "" if np.isfinite(found).all() else f"gives {found}"


@pytest.mark.parametrize("formula", formulas(), ids=lambda each: each.label)
def test_a_formula_gives_a_finite_number_or_names_the_argument(
    formula: Formula,
) -> None:
    rng = random.Random(formula.label)
    for _ in range(CALLS):
        values = spoilt(formula, rng)
        assert not (wrong := fault(formula, values)), f"{wrong}, with {values}"
