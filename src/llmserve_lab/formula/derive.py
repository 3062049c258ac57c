"""Derivation without SymPy at import time: limits, solutions and extremes of formulas.

Each function takes formulas or quantities, works with SymPy, and returns a SymPy
expression, so that a derived formula is the outcome of its derivation and not a copy.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from llmserve_lab.formula.equation import Equation
from llmserve_lab.formula.names import quantity
from llmserve_lab.formula.quantity import Quantity

if TYPE_CHECKING:
    import sympy


def symbolic(
    item: Equation | Quantity | Any,
    keep: tuple[Quantity, ...] = (),
    *,
    name: str = "item",
) -> sympy.Expr:
    """SymPy's view: a quantity's symbol, or a formula expanded down to ``keep``.

    Raises:
        TypeError: it is no formula, quantity, number or expression; ``name`` is said.
    """
    import sympy

    if isinstance(item, Quantity):
        return item.sympy
    if hasattr(item, "expanded"):
        return item.expanded(keep=frozenset(quantity.name for quantity in keep))
    try:
        found = sympy.sympify(item)
    except (sympy.SympifyError, TypeError):
        found = None
    if not isinstance(found, sympy.Expr):
        what = "a formula, a quantity, a number or an expression"
        raise TypeError(f"{name} must be {what}, got {item!r}")
    return found


def limit(
    formula: Equation | Any,
    variable: Quantity,
    to: float | str,
    *,
    keep: tuple[Quantity, ...] = (),
) -> sympy.Expr:
    """What ``formula`` tends to as ``variable`` goes to a number or to ``"oo"``."""
    import sympy

    expr = sympy.limit(
        symbolic(formula, keep, name="formula"),
        variable.sympy,
        symbolic(to, name="to"),
        "+" if to != "oo" else "-",
    )
    return sympy.simplify(expr)


def leading(
    formula: Equation, variable: Quantity, *, keep: tuple[Quantity, ...] = ()
) -> sympy.Expr:
    """What a falling ``formula`` looks like for large ``variable``: limit(f·x) / x."""
    product = symbolic(formula, keep, name="formula") * variable.sympy
    return limit(product, variable, "oo") / variable.sympy


def solve(
    left: Equation | Quantity,
    right: Equation | Quantity | Any,
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
    sides = symbolic(left, keep, name="left"), symbolic(right, keep, name="right")
    difference = sides[0] - sides[1]
    found = sympy.solve(difference.xreplace({unknown.sympy: free}), free)
    if len(found) != 1:
        raise ValueError(
            f"solve needs exactly one solution for {unknown.name}, got {len(found)}"
        )
    return sympy.factor(found[0])


def at(
    formula: Equation | Any, *, keep: tuple[Quantity, ...] = (), **values: Any
) -> sympy.Expr:
    """``formula`` with some quantities replaced, by number, coefficient or quantity."""
    swaps = {
        quantity(name).sympy: symbolic(value, name=name)
        for name, value in values.items()
    }
    return symbolic(formula, keep, name="formula").xreplace(swaps)


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

    return sympy.ceiling(symbolic(item))


MOST_DRAWS = 32  # factors that the browser is given; no model draws more experts


def none_drawn(total: Any, marked: Any, draws: Any) -> sympy.Expr:
    """Chance that none of ``marked`` things is among ``draws`` out of ``total``.

    Hypergeometric, each thing drawn once at most: C(n - m, k) / C(n, k), which is the
    product of (n - m - i) / (n - i) over the draws i, and zero where nothing else is
    left to draw. ``marked`` need not be whole.
    """
    given = {"total": total, "marked": marked, "draws": draws}
    return _none_drawn()(*(symbolic(each, name=name) for name, each in given.items()))


def _left(total: Any, marked: Any, draws: Any) -> Any:
    """The product, factor by factor, for numbers of any kind and for arrays."""
    import numpy as np

    if not any(isinstance(each, np.ndarray) for each in (total, marked, draws)):
        chance: Any = 1
        for i in range(int(draws)):
            chance = chance * max(0, (total - marked - i) / (total - i))
        return chance
    chance = np.ones(np.broadcast_shapes(*map(np.shape, (total, marked, draws))))
    for i in range(int(np.max(draws, initial=0))):
        drawn = np.maximum(0, (total - marked - i) / np.maximum(total - i, 1))
        chance = np.where(i < draws, chance * drawn, chance)
    return chance


@cache
def _none_drawn() -> Any:
    """The function of SymPy (made at the first use)."""
    import sympy

    class NoneDrawn(sympy.Function):  # type: ignore[misc]
        nargs = 3
        is_nonnegative = True
        _imp_ = staticmethod(_left)

        def _latex(self, printer: Any) -> str:
            total, marked, draws = self.args
            top, bottom, many = map(printer._print, (total - marked, total, draws))
            return rf"\binom{{{top}}}{{{many}}} \Big/ \binom{{{bottom}}}{{{many}}}"

        def unrolled(self) -> sympy.Expr:
            """Factor by factor, as far as a model may draw."""
            total, marked, draws = self.args
            factors = (
                sympy.Piecewise(
                    (sympy.Max(0, (total - marked - i) / (total - i)), i < draws),
                    (1, True),
                )
                for i in range(MOST_DRAWS)
            )
            return sympy.Mul(*factors, evaluate=False)

    return NoneDrawn


MOST_DRAFTS = 16  # terms that the browser is given; no engine drafts more in a chain


def falling_sum(first: Any, falls: Any, last: Any) -> sympy.Expr:
    """Sum over j = 0 … ``last`` of first^j · falls^(j(j-1)/2).

    A product of ``first``, ``first·falls``, ``first·falls²`` … is cut after each
    factor, and what it has come to is added up; the empty product, 1, comes first.
    """
    given = {"first": first, "falls": falls, "last": last}
    return _falling_sum()(*(symbolic(each, name=name) for name, each in given.items()))


def _summed(first: Any, falls: Any, last: Any) -> Any:
    """The sum, term by term, for numbers of any kind and for arrays."""
    import numpy as np

    if (most := np.max(last, initial=0)) > MOST_DRAFTS:
        raise ValueError(f"n_draft must be at most {MOST_DRAFTS} tokens, got {most:g}")
    if not any(isinstance(each, np.ndarray) for each in (first, falls, last)):
        term: Any = 1
        total: Any = 1
        for j in range(int(last)):
            term = term * first * falls**j
            total = total + term
        return total
    shape = np.broadcast_shapes(*map(np.shape, (first, falls, last)))
    terms, sums = np.ones(shape), np.ones(shape)
    for j in range(int(most)):
        terms = terms * first * falls**j
        sums = sums + np.where(j + 1 <= last, terms, 0.0)
    return sums


@cache
def _falling_sum() -> Any:
    """The function of SymPy (made at the first use)."""
    import sympy

    class FallingSum(sympy.Function):  # type: ignore[misc]
        nargs = 3
        is_positive = True
        _imp_ = staticmethod(_summed)

        def _latex(self, printer: Any) -> str:
            first, falls, last = map(printer._print, self.args)
            return rf"\sum_{{v=0}}^{{{last}}} {first}^{{v}}\, {{{falls}}}^{{v(v-1)/2}}"

        def unrolled(self) -> sympy.Expr:
            """Term by term, as far as a chain of drafts may go."""
            first, falls, last = self.args
            terms = (
                sympy.Piecewise(
                    (first**j * falls ** (j * (j - 1) // 2), j <= last), (0, True)
                )
                for j in range(1, MOST_DRAFTS + 1)
            )
            return sympy.Add(1, *terms, evaluate=False)

    return FallingSum
