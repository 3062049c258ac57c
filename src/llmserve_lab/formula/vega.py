"""From an expression to the reader's browser: Vega's expression language.

Only what both NumPy and Vega compute alike is allowed through. SymPy's own JavaScript
printer writes invalid code for what it does not know; this one refuses it by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llmserve_lab.formula.quantity import Coefficient, Quantity

if TYPE_CHECKING:
    from llmserve_lab.formula.formula import Formula

FUNCTIONS = {
    "Max": "max",
    "Min": "min",
    "Abs": "abs",
    "exp": "exp",
    "log": "log",
    "floor": "floor",
    "ceiling": "ceil",
}
RELATIONS = {
    "StrictLessThan": "<",
    "LessThan": "<=",
    "StrictGreaterThan": ">",
    "GreaterThan": ">=",
}
JOINED = {"And": " && ", "Or": " || "}


def vega_expression(formula: Formula, names: Mapping[str, str]) -> str:
    """Print ``formula`` for Vega; see :meth:`Formula.browser`."""
    known = formula.known()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"names must rename quantities of {formula.name}, got {', '.join(unknown)}"
        )
    texts = {term.name: _number(term) for term in known.values()} | dict(names)
    for step in formula.steps(keep=frozenset(names)):
        texts[step.name] = _print(step.teaching, texts, formula.name)
    return texts[formula.name]


def printed(expression: Any, names: Mapping[str, str], what: str) -> str:
    """Print a SymPy expression or condition for Vega; each symbol as ``names`` says.

    Raises:
        TypeError: it needs a function that the browser does not offer.
    """
    return _print(expression, names, what)


def _number(term: Quantity) -> str:
    """A coefficient stands for its number, any other quantity for its name."""
    if not isinstance(term, Coefficient):
        return term.name
    return f"{term.value:.0f}" if term.value % 1 == 0 else repr(term.value)


def _print(node: Any, names: Mapping[str, str], what: str) -> str:
    kind = type(node).__name__
    if node.is_Symbol:
        return names[node.name]
    if node.is_Rational:
        return str(node) if node.is_Integer else f"({node.p}/{node.q})"
    if node.is_Float:
        return repr(float(node))
    if kind == "Mul":
        return _product(node, names, what)
    if kind == "Piecewise":
        return _piecewise(node, names, what)
    if kind not in {"Add", "Pow", *FUNCTIONS, *RELATIONS, *JOINED}:
        raise TypeError(
            f"{what} uses {kind}, which the browser's expressions do not offer"
        )
    parts = [_print(arg, names, what) for arg in node.args]
    if kind == "Add" or kind in JOINED:
        return "(" + JOINED.get(kind, " + ").join(parts) + ")"
    if kind == "Pow":
        return _power(node, parts)
    if kind in FUNCTIONS:
        return f"{FUNCTIONS[kind]}({', '.join(parts)})"
    return f"({parts[0]} {RELATIONS[kind]} {parts[1]})"


def _product(node: Any, names: Mapping[str, str], what: str) -> str:
    """One fraction bar for all factors below it."""
    above = [factor for factor in node.args if not _below(factor)]
    below = [1 / factor for factor in node.args if _below(factor)]
    top, bottom = (
        [text for factor in side if (text := _print(factor, names, what)) != "1"]
        for side in (above, below)
    )
    text = "*".join(top) or "1"
    if len(bottom) > 1:
        return f"({text}/({'*'.join(bottom)}))"
    return f"({text}/{bottom[0]})" if bottom else f"({text})"


def _below(factor: Any) -> bool:
    return bool(factor.is_Pow and factor.exp.is_negative)


def _power(node: Any, parts: list[str]) -> str:
    if node.exp == -1:
        return f"(1/{parts[0]})"
    return f"sqrt({parts[0]})" if node.exp * 2 == 1 else f"pow({parts[0]}, {parts[1]})"


def _piecewise(node: Any, names: Mapping[str, str], what: str) -> str:
    """Nest the branches as conditionals; the last one must cover what is left."""
    *branches, (last, rest) = node.args
    if rest != True:  # noqa: E712 - SymPy's own truth value
        raise TypeError(f"{what} has a Piecewise without a final otherwise-branch")
    text = _print(last, names, what)
    for value, condition in reversed(branches):
        test, then = (_print(part, names, what) for part in (condition, value))
        text = f"({test} ? {then} : {text})"
    return text
