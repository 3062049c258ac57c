"""Quantities by code name: the notation hands its table in, formulas look terms up.

A formula knows its terms by name alone, so that the core knows no letter of the book.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from llmserve_lab.checks import UnknownKeyError
from llmserve_lab.formula.quantity import Quantity

Table = Callable[[], Mapping[str, Quantity]]
_TABLES: list[Table] = []


def hand_in(table: Table) -> None:
    """Make ``table`` the one in which names are looked up; asked when first used."""
    _TABLES[:] = [table]
    rank.cache_clear()


def quantity(name: str) -> Quantity:
    """Look up a quantity by code name.

    Raises:
        KeyError: the notation has no such name.
    """
    try:
        return _TABLES[0]()[name]
    except (IndexError, KeyError):
        raise UnknownKeyError(
            f"name must be in the notation table, got {name!r}"
        ) from None


@cache
def rank(name: str) -> int:
    """Place of a quantity in the notation table: the order in which it is printed."""
    return list(_TABLES[0]()).index(name)
