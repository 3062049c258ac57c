"""Derivation without SymPy at import time: limits, solutions and extremes of formulas.

Each function takes formulas or quantities, works with SymPy, and returns a SymPy
expression, so that a derived formula is the outcome of its derivation and not a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmserve_lab.formula.names import quantity
from llmserve_lab.formula.quantity import Quantity

if TYPE_CHECKING:
    import sympy

    from llmserve_lab.formula.formula import Formula


def symbolic(
    item: Formula | Quantity | Any, keep: tuple[Quantity, ...] = ()
) -> sympy.Expr:
    """SymPy's view: a quantity's symbol, or a formula expanded down to ``keep``."""
    import sympy

    if isinstance(item, Quantity):
        return item.sympy
    if hasattr(item, "expanded"):
        return item.expanded(keep=frozenset(quantity.name for quantity in keep))
    return sympy.sympify(item)


def limit(
    formula: Formula | Any,
    variable: Quantity,
    to: float | str,
    *,
    keep: tuple[Quantity, ...] = (),
) -> sympy.Expr:
    """What ``formula`` tends to as ``variable`` goes to a number or to ``"oo"``."""
    import sympy

    expr = sympy.limit(
        symbolic(formula, keep),
        variable.sympy,
        sympy.sympify(to),
        "+" if to != "oo" else "-",
    )
    return sympy.simplify(expr)


def leading(
    formula: Formula, variable: Quantity, *, keep: tuple[Quantity, ...] = ()
) -> sympy.Expr:
    """What a falling ``formula`` looks like for large ``variable``: limit(f·x) / x."""
    product = symbolic(formula, keep) * variable.sympy
    return limit(product, variable, "oo") / variable.sympy


def solve(
    left: Formula | Quantity,
    right: Formula | Quantity | Any,
    unknown: Quantity,
    *,
    keep: tuple[Quantity, ...] = (),
) -> sympy.Expr:
    """Solve ``left = right`` for ``unknown``.

    Raises:
        ValueError: there is not exactly one solution.
    """
    import sympy

    # A stand-in without a sign: a negative solution is still the solution.
    free = sympy.Symbol(unknown.name)
    difference = symbolic(left, keep) - symbolic(right, keep)
    found = sympy.solve(difference.xreplace({unknown.sympy: free}), free)
    if len(found) != 1:
        raise ValueError(
            f"solve needs exactly one solution for {unknown.name}, got {len(found)}"
        )
    return sympy.factor(found[0])


def at(
    formula: Formula | Any, *, keep: tuple[Quantity, ...] = (), **values: Any
) -> sympy.Expr:
    """``formula`` with some quantities replaced, by number, coefficient or quantity."""
    swaps = {quantity(name).sympy: symbolic(value) for name, value in values.items()}
    return symbolic(formula, keep).xreplace(swaps)


def maximum(*items: Any) -> sympy.Expr:
    """The largest of several symbols or expressions."""
    import sympy

    return sympy.Max(*items)


def minimum(*items: Any) -> sympy.Expr:
    """The smallest of several symbols or expressions."""
    import sympy

    return sympy.Min(*items)


def ceiling(item: Any) -> sympy.Expr:
    """The next whole number from a symbol or an expression on."""
    import sympy

    return sympy.ceiling(item)
