"""A formula in prefix form (a parse tree), which a page evaluates without ``eval``.

The browser shows with which values a number was computed. It computes the steps on the
way itself, from nested lists such as ``["/", "iteration_flops", "iteration_bytes"]``.
"""

from __future__ import annotations

from typing import Any

from llmserve_lab.formula.equation import Equation

OPERATORS = {
    "Add": "+",
    "Mul": "*",
    "Pow": "^",
    "Max": "max",
    "Min": "min",
    "Abs": "abs",
    "exp": "exp",
    "log": "log",
    "floor": "floor",
    "ceiling": "ceil",
    "NoneDrawn": "none_drawn",
    "FallingSum": "falling_sum",
    "StrictLessThan": "<",
    "LessThan": "<=",
    "StrictGreaterThan": ">",
    "GreaterThan": ">=",
}


def prefix_form(formula: Equation) -> Any:
    """The teaching form as nested lists: a name, a number, or ``[operator, …]``.

    Raises:
        TypeError: the formula needs a function that the page does not know.
    """
    return _prefix(formula.teaching, formula.name)


def _prefix(node: Any, what: str) -> Any:
    kind = type(node).__name__
    if node.is_Symbol:
        return node.name
    if node.is_Integer:
        return int(node)
    if node.is_Rational:
        return ["/", int(node.p), int(node.q)]
    if node.is_number and node.is_Float:
        return float(node)
    if kind == "Piecewise":
        return _cases(node, what)
    if kind not in OPERATORS:
        raise TypeError(f"{what} uses {kind}, which the page cannot compute")
    return [OPERATORS[kind], *(_prefix(arg, what) for arg in node.args)]


def _cases(node: Any, what: str) -> Any:
    """Nested ``["?", condition, then, otherwise]``; the last branch takes the rest."""
    *branches, (last, _) = node.args
    found = _prefix(last, what)
    for value, condition in reversed(branches):
        found = ["?", _prefix(condition, what), _prefix(value, what), found]
    return found
