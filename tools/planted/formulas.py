"""One operator, number or name in every formula; one coefficient in the notation.

A change that leaves the formula what it was (a·b for b·a) is no defect: the two are
computed at many places, and what says the same is not planted. What the gates see when
they are asked at once is caught; only the rest needs a run of the tests.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import mpmath
import sympy

from planted.defect import Defect, planted, python_defect
from planted.slips import PACKAGE, Written, changes, written

KIND = "formulas"
NOTATION = f"{PACKAGE}/notation"
PLACES = 64
ENDLESS = (sympy.oo, -sympy.oo, sympy.zoo, sympy.nan)


def same(one: Any, other: Any) -> bool:
    """Whether two formulas say the same, in the text's form and down to the leaves."""
    pairs = ((one.teaching, other.teaching), (one.expanded(), other.expanded()))
    return all(left == right or agree(left, right) for left, right in pairs)


def agree(left: Any, right: Any) -> bool:
    """Whether two expressions have the same value at every one of many random places.

    Places are spread over decades, so that each branch of a maximum has its turn.
    """
    if any(side.has(*ENDLESS) for side in (left, right)):
        return False
    symbols = sorted(left.free_symbols | right.free_symbols, key=str)
    rng = random.Random(str(symbols))
    sides = sympy.lambdify(symbols, (left, right), "mpmath")
    with mpmath.workdps(30):
        for _ in range(PLACES):
            try:
                one, other = sides(*(10 ** rng.uniform(-2, 2) for _ in symbols))
            except (ArithmeticError, TypeError):  # no number there: the gates judge
                return False
            if not mpmath.almosteq(one, other, 1e-20):
                return False
    return True


class Fate(Enum):
    """What becomes of a slip before it is planted."""

    SAME = "the formula is still the same"
    SEEN = "the gates see it, asked in this process"
    OPEN = "it has to be planted"


def rewritten(of: Written, defect: Defect) -> Any:
    """The formula as it is with the defect written in it."""
    source = planted(of.path.read_bytes(), [defect]).decode()
    lines = [
        node
        for node in ast.parse(source).body
        if getattr(node, "name", None) == getattr(of.expr, "name", of)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == of.name)
    ]
    scope = dict(of.scope)
    exec(compile(ast.Module(lines, []), defect.file, "exec"), scope)
    return scope[of.name]


def fate(of: Written, defect: Defect) -> Fate:
    """Ask the gates of units and of counts, as the tests do, whether they see it."""
    from tests.counted import cases

    from llmserve_lab.formula.dimensions import balances

    try:
        slipped = rewritten(of, defect)
        slipped.expanded()
    except Exception:  # it does not even become an expression
        return Fate.SEEN
    if same(of.formula, slipped):
        return Fate.SAME
    try:
        held = balances(slipped) and all(c.agrees(slipped) for c in cases(of.formula))
    except Exception:  # a gate would end in an error
        return Fate.SEEN
    return Fate.OPEN if held else Fate.SEEN


def slips(root: Path) -> Iterator[tuple[Written, Defect]]:
    """Every slip in every formula, with the formula."""
    from tests.counted import load

    load(root / "tests")
    for of in written(root):
        for defect in dict.fromkeys(_slips(root, of)):
            yield of, defect


def _slips(root: Path, of: Written) -> Iterator[Defect]:
    for node, slip in changes(of):
        after = ast.unparse(slip)
        after = f"({after})" if isinstance(slip, ast.BinOp) else after
        yield python_defect(KIND, of.path, root, node, after, of.formula.label)


def in_coefficients(root: Path) -> Iterator[Defect]:
    """Value, unit and printed digit of every coefficient."""
    for path in sorted((root / NOTATION).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Coefficient":
                yield from _in_coefficient(node, path, root)


def _in_coefficient(call: ast.Call, path: Path, root: Path) -> Iterator[Defect]:
    value = next(word.value for word in call.keywords if word.arg == "value")
    symbol, unit, *_ = call.args
    for part in (value, symbol, unit):
        after = repr(_slipped(ast.literal_eval(part)))
        yield python_defect(KIND, path, root, part, after)


def _slipped(part: float | str) -> float | str:
    """One more, as a number or as its digits; a unit too many."""
    if isinstance(part, str):
        return str(int(part) + 1) if part.isdigit() else f"{part}*token"
    return part + 1
