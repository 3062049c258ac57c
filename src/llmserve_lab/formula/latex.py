"""From an expression to the page: the equation, and the equation with numbers in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from llmserve_lab.formula import evaluate
from llmserve_lab.formula.blackboard import arranged, without
from llmserve_lab.formula.breaking import aligned
from llmserve_lab.formula.equation import Equation
from llmserve_lab.formula.html import display
from llmserve_lab.formula.names import quantity, rank
from llmserve_lab.formula.origin import Computed, small_print
from llmserve_lab.formula.quantity import Coefficient, Quantity
from llmserve_lab.formula.text import PLURALS, plain, si

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class Worked:
    """A substitution with numbers and units, and the value it comes to."""

    name: str
    value: float
    unit: str
    latex: str
    text: str
    of: Computed

    def _repr_html_(self) -> str:
        said = self.text.rpartition(" = ")[2]
        beside = small_print(self.of, said)
        return f'<div class="worked">{display(self.latex)}{beside}</div>'

    def __repr__(self) -> str:
        return self.text


def equation(formula: Equation) -> str:
    """LaTeX of ``result = expression``, factors in the order of the notation table."""
    right = print_latex(formula.teaching, _symbols(formula))
    return f"{formula.result.symbol} = {right}"


def worked(formula: Equation, values: Mapping[str, Any], *, digits: int) -> Worked:
    """Substitute ``values`` into the teaching form; see :meth:`Formula.worked`."""
    value = evaluate.evaluate(formula, values)
    if value.ndim:
        raise TypeError(
            f"worked needs one number for each argument of {formula.name}, "
            f"got arrays of shape {value.shape}"
        )
    inner = {**_intermediate(formula, values), **values}
    ones = _ones(formula, inner)
    quiet = _quiet(formula, ones)
    numbers = {
        name: _number(term, inner.get(name), digits, quiet)
        for name, term in formula.terms.items()
    }
    middle = print_latex(formula.teaching, numbers, dots=True, ones=ones)
    shown = si(value, formula.result.unit, digits)
    steps = [
        print_latex(formula.teaching, _symbols(formula)),
        middle,
        rf"\mathbf{{{_upright(shown)}}}",
    ]
    return Worked(
        formula.name,
        float(value),
        formula.result.unit,
        aligned(formula.result.symbol, steps),
        f"{formula.name} = {shown}",
        Computed(formula, values, float(value)),
    )


def template(formula: Equation) -> str:
    r"""LaTeX of the right side with a slot ``⟦name\,⟧`` for each term.

    The page fills the slots with letters, or with the numbers of the moment.
    """
    slots = {
        name: "1" if getattr(term, "value", 0) == 1 else rf"⟦{name}\,⟧"
        for name, term in formula.terms.items()
    }
    return print_latex(formula.teaching, slots, dots=True)


def _intermediate(formula: Equation, values: Mapping[str, Any]) -> dict[str, float]:
    """Values of the formulas in ``uses`` that the caller did not give."""
    found = {}
    for used in formula.uses:
        if used.name in formula.terms and used.name not in values:
            asked = used.leaves(keep=frozenset(values))
            found[used.name] = float(
                evaluate.evaluate(used, {q.name: values[q.name] for q in asked})
            )
    return found


def _symbols(formula: Equation) -> dict[str, str]:
    return {name: term.symbol for name, term in formula.terms.items()}


def _ones(formula: Equation, values: Mapping[str, Any]) -> frozenset[str]:
    """The terms that count things of which there is one: as a factor it says nothing.

    One of what the result counts is said.
    """
    kept, _ = _sides(formula.result.unit)
    terms = formula.terms.items()
    return frozenset(
        name
        for name, term in terms
        if not isinstance(term, Coefficient)
        and PLURALS.issuperset(_sides(term.unit)[0])
        if not kept & _sides(term.unit)[0] and float(term.checked(values[name])) == 1
    )


def _quiet(formula: Equation, ones: Collection[str]) -> frozenset[str]:
    """Of layers and requests those below a line that no other term counts.

    In a formula for one layer "per layer" says nothing, and added to what has none it
    would be another unit.
    """
    counted = set(_sides(formula.result.unit)[1])
    for name, term in formula.terms.items():
        if name not in ones and not isinstance(term, Coefficient):
            counted |= _sides(term.unit)[0]
    return frozenset({"layer", "request"} - counted)


def _sides(unit: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names of a unit above and below the line."""
    above, _, below = unit.partition("/")
    names = (re.findall(r"[A-Za-z]+", side) for side in (above, below))
    first, second = (frozenset(side) for side in names)
    return first, second


def _number(
    term: Quantity, value: Any, digits: int, quiet: Collection[str] = ()
) -> str:
    """A number with its unit; the plain number where it is a coefficient."""
    if isinstance(term, Coefficient):
        return term.symbol if value is None else _upright(plain(value, digits))
    above, _, below = term.unit.partition("/")
    unit = above if below in quiet else term.unit
    return _upright(si(float(term.checked(value)), unit, digits))


def _upright(shown: str) -> str:
    """``7×10⁹ parameters`` as LaTeX: number, thin space, upright unit."""
    number, _, unit = shown.partition(" ")
    number = number.replace(",", "{,}")
    base, times, power = number.partition("×10")
    power = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    number = rf"{base} \times 10^{{{power}}}" if times else number
    unit = unit.replace("µ", r"\mu{}").replace("·", r"\cdot{}").replace(" ", r"\ ")
    return rf"{number}\,\mathrm{{{unit}}}" if unit else number


def print_latex(
    expr: sympy.Expr,
    names: Mapping[str, str],
    *,
    dots: bool = False,
    ones: Collection[str] = (),
) -> str:
    """Print ``expr`` with each symbol written as ``names`` says.

    Symbols are ordered as in the notation table, not by the alphabet: each is replaced
    by a stand-in whose name is its rank there. A coefficient of one is left out, and so
    is what ``ones`` names, where it is a factor. Numbers have ``dots`` between them.
    """
    import sympy

    stand_ins = {
        symbol: sympy.Symbol(f"x{rank(symbol.name):04d}")
        for symbol in expr.free_symbols
    }
    counted = {stand_ins[symbol] for symbol in stand_ins if symbol.name in ones}
    texts = {stand_ins[symbol]: names[symbol.name] for symbol in expr.free_symbols}
    swaps = stand_ins | {s: 1 for s in stand_ins if _is_one(s.name, names[s.name])}
    settings = {"symbol_names": texts, "mul_symbol": "dot" if dots else None}
    shown = _written(expr.xreplace(swaps), frozenset(counted))
    return str(_printer()(settings).doprint(shown))


@cache
def _written(expr: sympy.Expr, ones: frozenset[sympy.Symbol]) -> sympy.Expr:
    """An equation and each substitution into it mostly arrange one expression."""
    return without(arranged(expr), ones)


def _is_one(name: str, printed: str) -> bool:
    """Whether a term is a coefficient of one that was not given another value."""
    return printed == "1" and isinstance(quantity(name), Coefficient)


@cache
def _printer() -> type[Any]:
    """A LaTeX printer with the habits of a blackboard (made at the first use)."""
    from sympy.printing.latex import LatexPrinter

    class BlackboardPrinter(LatexPrinter):  # type: ignore[misc]
        def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
            """Symbols first, then bare numbers, then what is subtracted."""
            terms = super()._as_ordered_terms(expr, order=order)
            terms = sorted(terms, key=lambda term: term.is_number)
            return sorted(terms, key=lambda term: term.could_extract_minus_sign())

        def _print_Pow(self, expr: Any) -> str:
            """A substituted number stands in brackets before its power."""
            text, base = str(super()._print_Pow(expr)), self._print(expr.base)
            bare = expr.base.is_Symbol and r"\," in base and text.startswith(base + "^")
            return rf"\left({base}\right)" + text[len(base) :] if bare else text

    return BlackboardPrinter
