"""A formula whose units do not balance is wrong before a number is put in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmserve_lab.formula.units import units

if TYPE_CHECKING:
    from llmserve_lab.formula.formula import Formula

PLAIN = frozenset(["log", "exp", "NoneDrawn"])
KEEPS_UNIT = frozenset(["Abs", "floor", "ceiling"])
ALIKE = frozenset(
    ["Max", "Min", "LessThan", "StrictLessThan", "GreaterThan", "StrictGreaterThan"]
)


def unit_of(formula: Formula) -> Any:
    """The unit that the right-hand side of ``formula`` comes out in, as pint has it.

    Raises:
        ValueError: it adds or compares unlike units, or hands a unit to a function
            that takes plain numbers.
    """
    one_of_each = {
        term.sympy: units().Quantity(1.0, term.unit) for term in formula.terms.values()
    }
    return _walk(formula.teaching, one_of_each, formula.name).units


def balances(formula: Formula) -> bool:
    """Whether both sides of ``formula`` have the same unit, no factor left over."""
    left = units().Quantity(1.0, formula.result.unit).to_base_units()
    right = units().Quantity(1.0, unit_of(formula)).to_base_units()
    return bool(left.units == right.units and left.magnitude == right.magnitude)


def _walk(node: Any, known: dict[Any, Any], what: str) -> Any:
    kind = type(node).__name__
    if node.is_Symbol:
        return known[node]
    if node.is_number:
        return units().Quantity(1.0, "dimensionless")
    if node.is_Pow:
        return _power(node, known, what)
    if kind == "Piecewise":
        return _branches(node, known, what)
    # Nothing is nothing in any unit: a zero may stand beside bytes.
    parts = [_walk(arg, known, what) for arg in node.args if arg != 0]
    if node.is_Mul:
        return _product(parts)
    if node.is_Add or kind in ALIKE:
        return _same(parts, node, what)
    if kind in PLAIN and (odd := [part for part in parts if not part.unitless]):
        raise ValueError(f"{what} takes {kind} of {odd[0].units}")
    if kind not in {*PLAIN, *KEEPS_UNIT}:
        raise ValueError(f"{what} uses {kind}, whose unit is not known")
    return parts[0]


def _product(parts: list[Any]) -> Any:
    total = units().Quantity(1.0, "dimensionless")
    for part in parts:
        total = total * part
    return total


def _power(node: Any, known: dict[Any, Any], what: str) -> Any:
    base = _walk(node.base, known, what)
    if node.exp.is_number:
        return base ** float(node.exp)
    exponent = _walk(node.exp, known, what)
    if not (base.unitless and exponent.unitless):
        raise ValueError(f"{what} raises {base.units} to the power of {exponent.units}")
    return base


def _branches(node: Any, known: dict[Any, Any], what: str) -> Any:
    """Every branch of a Piecewise has one unit; every condition compares like units."""
    for _, condition in node.args:
        if condition.args:
            _walk(condition, known, what)
    return _same([_walk(value, known, what) for value, _ in node.args], node, what)


def _same(parts: list[Any], node: Any, what: str) -> Any:
    odd = [part.units for part in parts if part.units != parts[0].units]
    if odd:
        raise ValueError(f"{what} mixes {parts[0].units} with {odd[0]} in {node}")
    return parts[0]
