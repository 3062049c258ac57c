"""How an expression is written on a blackboard: what SymPy's own order would hide.

``−(b − a)/c`` is written ``(a − b)/c``, ``2 − 2x`` is ``2(1 − x)``, and ``m t − t`` is
``t(m − 1)``. In a worked line, what counts one of something is no factor.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from math import gcd
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sympy


def arranged(expr: sympy.Expr, *, term: bool = False) -> sympy.Expr:
    """The same expression, signs inside brackets and common factors before them.

    What is a ``term`` of a sum keeps its minus: it is what the sum subtracts.
    """
    if not expr.args:
        return expr
    expr = expr.func(*(arranged(each, term=expr.is_Add) for each in expr.args))
    if expr.is_Mul and not term:
        return _turned(expr)
    if expr.is_Pow and expr.base.is_Add and expr.exp.is_Integer:
        common, rest = _common(expr.base)
        return common**expr.exp * rest**expr.exp
    if expr.is_Add:
        return _gathered(expr)
    return expr


def _turned(product: sympy.Expr) -> sympy.Expr:
    """A minus before a difference goes into it."""
    import sympy

    number, factors = product.as_coeff_mul()
    if number >= 0:
        return product
    for factor in factors:
        if factor.is_Add and any(_negative(term) for term in factor.args):
            others = [each for each in factors if each is not factor]
            return sympy.Mul(-number, *others, sympy.Add(*(-t for t in factor.args)))
    return product


def _common(total: sympy.Expr) -> tuple[Any, sympy.Expr]:
    """The whole number that divides each term of a sum, and what it leaves."""
    import sympy

    numbers = [term.as_coeff_Mul()[0] for term in total.args]
    if not all(number.is_Integer for number in numbers):
        return sympy.Integer(1), total
    common = sympy.Integer(reduce(gcd, (abs(int(number)) for number in numbers)))
    return common, sympy.Add(*(term / common for term in total.args))


def _gathered(total: sympy.Expr) -> sympy.Expr:
    """A symbol that is taken from a multiple of itself is written once."""
    import sympy

    for less in total.args:
        symbol = -less
        if not symbol.is_Symbol:
            continue
        for more in total.args:
            if more.is_Mul and symbol in more.args and not _negative(more):
                times = sympy.Mul(*(each for each in more.args if each != symbol))
                others = [each for each in total.args if each not in (less, more)]
                return sympy.Add(*others, symbol * (times - 1))
    return total


def _negative(term: sympy.Expr) -> bool:
    return bool(term.could_extract_minus_sign())


def without(expr: sympy.Expr, ones: Collection[Any]) -> sympy.Expr:
    """The expression without ``ones`` where they are factors beside others."""
    import sympy

    if not expr.args:
        return expr
    args = [without(each, ones) for each in expr.args]
    if expr.is_Mul:
        kept = [each for each in args if each.as_base_exp()[0] not in ones]
        if any(not each.is_number for each in kept):
            return sympy.Mul(*kept, evaluate=len(kept) != 2)
    return expr.func(*args)
