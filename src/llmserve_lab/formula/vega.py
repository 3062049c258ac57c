"""From an expression to the reader's browser: Vega's expression language.

Only what both NumPy and Vega compute alike is allowed through. SymPy's own JavaScript
printer writes invalid code for what it does not know; this one refuses it by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Basic
from sympy.printing.printer import Printer

from llmserve_lab.checks import of_type
from llmserve_lab.formula.equation import Equation
from llmserve_lab.formula.quantity import Coefficient, Quantity


def vega_expression(formula: Equation, names: Mapping[str, str]) -> str:
    """Print ``formula`` for Vega; see :meth:`Formula.browser`."""
    known = formula.known()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"names must rename quantities of {formula.name}, got {', '.join(unknown)}"
        )
    texts = {term.name: _number(term) for term in known.values()} | dict(names)
    printer = VegaPrinter(texts, formula.name)
    for step in formula.steps(keep=frozenset(names)):
        texts[step.name] = printer.doprint(step.teaching)
    return texts[formula.name]


def printed(expression: Any, names: Mapping[str, str], what: str) -> str:
    """Print a SymPy expression or condition for Vega; each symbol as ``names`` says.

    Raises:
        TypeError: it needs a function that the browser does not offer.
    """
    of_type(Basic, expression=expression)
    return str(VegaPrinter(names, what).doprint(expression))


def _number(term: Quantity) -> str:
    """A coefficient stands for its number, any other quantity for its name."""
    if not isinstance(term, Coefficient):
        return term.name
    return f"{term.value:.0f}" if term.value % 1 == 0 else repr(term.value)


class VegaPrinter(Printer):  # type: ignore[misc]
    """Vega's expression of a SymPy one; ``names`` says how each symbol is written.

    The printer's dispatch by class is the whitelist: what has no method here does not
    exist in the browser, and is refused.
    """

    def __init__(self, names: Mapping[str, str], what: str) -> None:
        super().__init__()
        self.names, self.what = names, what

    def emptyPrinter(self, expr: Any) -> str:
        """Refuse what no method prints."""
        kind = type(expr).__name__
        raise TypeError(
            f"{self.what} uses {kind}, which the browser's expressions do not offer"
        )

    def _print_Symbol(self, expr: Any) -> str:
        return self.names[expr.name]

    def _print_Integer(self, expr: Any) -> str:
        return str(expr)

    def _print_Rational(self, expr: Any) -> str:
        return f"({expr.p}/{expr.q})"

    def _print_Float(self, expr: Any) -> str:
        return repr(float(expr))

    def _print_Add(self, expr: Any) -> str:
        return "(" + " + ".join(self._parts(expr)) + ")"

    def _print_Mul(self, expr: Any) -> str:
        """One fraction bar for all factors below it."""
        above = [factor for factor in expr.args if not _below(factor)]
        below = [1 / factor for factor in expr.args if _below(factor)]
        top, bottom = (
            [text for factor in side if (text := self._print(factor)) != "1"]
            for side in (above, below)
        )
        text = "*".join(top) or "1"
        if len(bottom) > 1:
            return f"({text}/({'*'.join(bottom)}))"
        return f"({text}/{bottom[0]})" if bottom else f"({text})"

    def _print_Pow(self, expr: Any) -> str:
        base, power = self._parts(expr)
        if expr.exp == -1:
            return f"(1/{base})"
        return f"sqrt({base})" if expr.exp * 2 == 1 else f"pow({base}, {power})"

    def _print_Piecewise(self, expr: Any) -> str:
        """Nest the branches as conditionals; the last one must cover what is left."""
        *branches, (last, rest) = expr.args
        if rest != True:  # noqa: E712 - SymPy's own truth value
            raise TypeError(
                f"{self.what} has a Piecewise without a final otherwise-branch"
            )
        text = self._print(last)
        for value, condition in reversed(branches):
            text = f"({self._print(condition)} ? {self._print(value)} : {text})"
        return str(text)

    def _call(self, expr: Any) -> str:
        """A function that Vega knows by the same name, in lower case."""
        return f"{type(expr).__name__.lower()}({', '.join(self._parts(expr))})"

    _print_Max = _print_Min = _print_Abs = _call
    _print_exp = _print_log = _print_floor = _call

    def _print_ceiling(self, expr: Any) -> str:
        return f"ceil({', '.join(self._parts(expr))})"

    def _relation(self, expr: Any) -> str:
        left, right = self._parts(expr)
        return f"({left} {expr.rel_op} {right})"

    _print_StrictLessThan = _print_LessThan = _relation
    _print_StrictGreaterThan = _print_GreaterThan = _relation

    def _print_And(self, expr: Any) -> str:
        return "(" + " && ".join(self._parts(expr)) + ")"

    def _print_Or(self, expr: Any) -> str:
        return "(" + " || ".join(self._parts(expr)) + ")"

    def _print_NoneDrawn(self, expr: Any) -> str:
        """It has no loops: each factor stands there."""
        return str(self._print(expr.unrolled()))

    _print_FallingSum = _print_NoneDrawn

    def _parts(self, expr: Any) -> list[str]:
        return [self._print(arg) for arg in expr.args]


def _below(factor: Any) -> bool:
    return bool(factor.is_Pow and factor.exp.is_negative)
