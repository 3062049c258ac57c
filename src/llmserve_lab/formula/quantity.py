"""One letter, one meaning: a quantity knows its name, symbol, unit and range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from llmserve_lab.checks import Extended
from llmserve_lab.formula.arrays import Array
from llmserve_lab.formula.units import convert

if TYPE_CHECKING:
    import sympy

PLAIN, LARGE = (float, int, np.float64), 1e300  # numbers that need no closer look
ROUNDING = 1e-15  # a share of two equal times may come out this much above one


@dataclass(frozen=True)
class Quantity:
    """A named, dimensioned thing that formulas are about.

    ``symbol`` is the LaTeX, ``unit`` a string that
    :func:`llmserve_lab.formula.units.units` parses. Values lie between ``minimum`` and
    ``maximum``, both included; ``positive`` excludes zero, ``whole`` fractions.

    ``name`` is the keyword that functions use: that of the variable to which the
    notation assigns the quantity, see :func:`named_by_variable`.
    """

    symbol: str
    unit: str
    meaning: str
    minimum: Extended = 0.0
    maximum: Extended = math.inf
    positive: bool = False
    whole: bool = False
    name: str = field(default="", kw_only=True)

    @property
    def sympy(self) -> sympy.Symbol:
        """The SymPy symbol, named by the code name and known to be real."""
        import sympy

        if self.positive:
            return sympy.Symbol(self.name, positive=True)
        if self.minimum >= 0:
            return sympy.Symbol(self.name, nonnegative=True)
        return sympy.Symbol(self.name, real=True)

    @property
    def rule(self) -> str:
        """The range in words, as an error message says it."""
        least = "positive" if self.positive else f"at least {self.minimum:g}"
        return (
            least
            if math.isinf(self.maximum)
            else f"{least} and at most {self.maximum:g}"
        )

    def checked(self, value: Any) -> Array:
        """Return ``value`` as float64 after checking type, unit and range.

        A number, an array, or anything with ``value`` and ``unit`` (a catalog record)
        or ``magnitude`` and ``units`` (a pint quantity) will do.

        Raises:
            TypeError: the value is not a real number or an array of them.
            ValueError: it is not finite, out of range, or in a foreign unit.
        """
        if type(value) in PLAIN and self._is_sound(value):
            return np.asarray(value, np.float64)
        number, unit = _split(value)
        array = self._as_float64(number)
        if unit is not None:
            with np.errstate(over="ignore"):  # what overflows is refused below
                array = np.asarray(convert(array, unit, to=self.unit, what=self.name))
        low, high = _extremes(array)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"{self.name} must be finite, got {_offender(array)}")
        too_low = low <= 0 if self.positive else low < self.minimum
        if too_low or high > self.maximum * (1 + ROUNDING):
            found = low if too_low else high
            raise ValueError(f"{self.name} must be {self.rule}, got {shown(found)}")
        if self.whole and (part := array[array != np.floor(array)]).size:
            raise ValueError(
                f"{self.name} must be a whole number, got {shown(part.flat[0])}"
            )
        return array

    def refuses(self, array: Array) -> Array:
        """Which elements of an array :meth:`checked` refuses."""
        too_low = array <= 0 if self.positive else array < self.minimum
        too_high = array > self.maximum * (1 + ROUNDING)
        broken = array != np.floor(array) if self.whole else False
        return ~np.isfinite(array) | too_low | too_high | broken

    def _is_sound(self, number: float) -> bool:
        """What :meth:`checked` asks, of one plain number: most of what it is given."""
        is_low = number <= 0 if self.positive else number < self.minimum
        if is_low or number > self.maximum * (1 + ROUNDING):
            return False
        return abs(number) < LARGE and not (self.whole and number % 1)

    def _as_float64(self, value: Any) -> Array:
        if isinstance(value, np.ma.MaskedArray):
            raise TypeError(f"{self.name} must be an array without a mask")
        try:
            array = np.asarray(value)
        except ValueError:
            raise ValueError(
                f"{self.name} must be a number or a rectangular array, got {value!r}"
            ) from None
        if array.dtype == object and all(map(_is_real, array.flat)):
            return self._from_objects(array)
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{self.name} must be a real number, got {value!r}")
        return array.astype(np.float64, copy=False)

    def _from_objects(self, array: Any) -> Array:
        """Numbers too large for int64; NumPy keeps them as Python objects."""
        try:
            return array.astype(np.float64)  # type: ignore[no-any-return]
        except OverflowError:
            power = int(math.log10(max(abs(int(item)) for item in array.flat)))
            raise ValueError(
                f"{self.name} must fit a float64 (below 1.8e308), got about 1e{power}"
            ) from None


@dataclass(frozen=True)
class Coefficient(Quantity):
    """A number that carries a unit: the 2 of 2·P is FLOP per parameter and token."""

    positive: bool = True
    value: float = math.nan


def named_by_variable(namespace: Mapping[str, object]) -> dict[str, Quantity]:
    """Give each quantity in ``namespace`` the name of its variable, in their order.

    A module has no ``__set_name__``, and a code name that is typed twice can differ.

    Raises:
        ValueError: one quantity has two variables.
    """
    found: dict[str, Quantity] = {}
    for name, item in namespace.items():
        if isinstance(item, Quantity):
            if item.name not in ("", name):
                raise ValueError(f"{item.name} must have one name, got {name} as well")
            object.__setattr__(item, "name", name)
            found[name] = item
    return found


def _split(value: Any) -> tuple[Any, str | None]:
    """A bare number and its unit, for what carries one."""
    if hasattr(value, "magnitude") and hasattr(value, "units"):
        return value.magnitude, str(value.units)
    if hasattr(value, "value") and isinstance(getattr(value, "unit", None), str):
        return value.value, value.unit
    return value, None


def _is_real(item: Any) -> bool:
    return isinstance(item, Real) and not isinstance(item, bool)


def shown(value: float) -> str:
    """As messages say it: short where that is exact, 1.0000001 never as 1."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _extremes(array: Array) -> tuple[float, float]:
    """Smallest and largest element; either is NaN where any element is."""
    if array.ndim == 0:
        return float(array), float(array)
    if array.size == 0:
        return 1.0, 1.0  # nothing to object to: an empty array has no bad element
    return float(np.min(array)), float(np.max(array))


def _offender(array: Array) -> str:
    return str(array[~np.isfinite(array)].flat[0]) if array.ndim else str(array)
