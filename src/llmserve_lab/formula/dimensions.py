"""A formula whose units do not balance is wrong before a number is put in."""

from __future__ import annotations

from typing import Any

from sympy.printing.printer import Printer

from llmserve_lab.formula.equation import Equation
from llmserve_lab.formula.units import units


def unit_of(formula: Equation) -> Any:
    """The unit that the right-hand side of ``formula`` comes out in, as pint has it.

    Raises:
        ValueError: it adds or compares unlike units, or hands a unit to a function
            that takes plain numbers.
    """
    return UnitWalker(formula)._print(formula.teaching).units


def balances(formula: Equation) -> bool:
    """Whether both sides of ``formula`` have the same unit, no factor left over."""
    left = units().Quantity(1.0, formula.result.unit).to_base_units()
    right = units().Quantity(1.0, unit_of(formula)).to_base_units()
    return bool(left.units == right.units and left.magnitude == right.magnitude)


class UnitWalker(Printer):  # type: ignore[misc]
    """Dimensional analysis as a SymPy printer: each node prints as one of its unit.

    The printer's dispatch by class is the whitelist: a function without a method here
    has no known unit and is refused.
    """

    def __init__(self, formula: Equation) -> None:
        super().__init__()
        self.what = formula.name
        self.known = {
            term.sympy: units().Quantity(1.0, term.unit)
            for term in formula.terms.values()
        }

    def _print(self, expr: Any, **kwargs: Any) -> Any:
        if expr.is_number:
            return units().Quantity(1.0, "dimensionless")
        return super()._print(expr, **kwargs)

    def emptyPrinter(self, expr: Any) -> Any:
        """Refuse what no method prints."""
        kind = type(expr).__name__
        raise ValueError(f"{self.what} uses {kind}, whose unit is not known")

    def _print_Symbol(self, expr: Any) -> Any:
        return self.known[expr]

    def _print_Mul(self, expr: Any) -> Any:
        total = units().Quantity(1.0, "dimensionless")
        for part in self._parts(expr):
            total = total * part
        return total

    def _print_Pow(self, expr: Any) -> Any:
        base = self._print(expr.base)
        if expr.exp.is_number:
            return base ** float(expr.exp)
        power = self._print(expr.exp)
        if not (base.unitless and power.unitless):
            raise ValueError(
                f"{self.what} raises {base.units} to the power of {power.units}"
            )
        return base

    def _print_Piecewise(self, expr: Any) -> Any:
        """Every branch has one unit; every condition compares like units."""
        for _, condition in expr.args:
            if condition.args:
                self._print(condition)
        return self._same([self._print(value) for value, _ in expr.args], expr)

    def _alike(self, expr: Any) -> Any:
        return self._same(self._parts(expr), expr)

    _print_Add = _print_Max = _print_Min = _alike
    _print_LessThan = _print_StrictLessThan = _alike
    _print_GreaterThan = _print_StrictGreaterThan = _alike

    def _keeps(self, expr: Any) -> Any:
        return self._parts(expr)[0]

    _print_Abs = _print_floor = _print_ceiling = _keeps

    def _plain(self, expr: Any) -> Any:
        parts = self._parts(expr)
        if odd := [part for part in parts if not part.unitless]:
            kind = type(expr).__name__
            raise ValueError(f"{self.what} takes {kind} of {odd[0].units}")
        return parts[0]

    _print_log = _print_exp = _print_NoneDrawn = _print_FallingSum = _plain

    def _parts(self, expr: Any) -> list[Any]:
        # Nothing is nothing in any unit: a zero may stand beside bytes.
        return [self._print(arg) for arg in expr.args if arg != 0]

    def _same(self, parts: list[Any], expr: Any) -> Any:
        odd = [part.units for part in parts if part.units != parts[0].units]
        if odd:
            raise ValueError(
                f"{self.what} mixes {parts[0].units} with {odd[0]} in {expr}"
            )
        return parts[0]
