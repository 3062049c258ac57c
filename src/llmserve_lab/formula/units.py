"""Units are the cheapest proof-reader: a formula whose units clash is wrong.

The book counts things that general-purpose unit libraries treat as plain numbers
(tokens, requests, parameters, FLOPs), so it has a registry of its own in which each
of them is a dimension. A token is then never a request, and a FLOP never a byte.
"""

from __future__ import annotations

from functools import cache
from typing import Any

DEFINITIONS = """
kilo- = 1e3 = k-
mega- = 1e6 = M-
giga- = 1e9 = G-
tera- = 1e12 = T-
peta- = 1e15 = P-
milli- = 1e-3 = m-
micro- = 1e-6 = u- = µ-
nano- = 1e-9 = n-
kibi- = 1024 = Ki-
mebi- = 1048576 = Mi-
gibi- = 1073741824 = Gi-
tebi- = 1099511627776 = Ti-

second = [time] = s
minute = 60 * second = min
hour = 60 * minute = h
byte = [data] = B
bit = byte / 8
FLOP = [work]
token = [token]
request = [request]
parameter = [parameter]
element = [element]
layer = [layer]
head = [head]
pair = [pair]
device = [device]
iteration = [iteration]
cycle = [cycle]
dollar = [money]
"""


@cache
def units() -> Any:
    """Return the book's pint registry (pint is loaded at the first call)."""
    import pint

    registry: Any = pint.UnitRegistry(None, cache_folder=None)
    registry.load_definitions(DEFINITIONS.splitlines())
    return registry


def convert(value: Any, unit: str, *, to: str, what: str) -> Any:
    """Convert ``value`` from ``unit`` to ``to``; ``what`` names it in the error.

    Raises:
        ValueError: a unit is unknown, or the two do not measure the same thing.
    """
    import pint

    if unit == to:
        return value
    try:
        given = units().Unit(unit)
    except Exception as error:  # pint also lets the errors of its tokenizer through
        raise ValueError(
            f"{what} has a unit the book does not know: {error or unit}"
        ) from None
    try:
        return units().Quantity(value, given).to(to).magnitude
    except pint.DimensionalityError:
        if to == "dimensionless":
            raise ValueError(f"{what} must have no unit, got {unit}") from None
        raise ValueError(
            f"{what} must be in {to} (or a multiple), got {unit}"
        ) from None
