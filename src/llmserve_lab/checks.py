"""Argument checks: one way to refuse a count, a type, a range or an unknown option."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral
from types import UnionType
from typing import SupportsFloat, TypeGuard, get_args

Extended = float  # a number that may be infinite: no limit, never
MOST_PLAYED = 10**5  # of what is counted one by one in a loop


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number of Python's or NumPy's; a truth value is none."""
    if type(value) is int:  # most are: an abstract class takes ten times as long to ask
        return True
    return isinstance(value, Integral) and not isinstance(value, bool)


def one_of(name: str, value: object, options: object) -> None:
    """Refuse what is not among the options of a ``Literal``.

    Raises:
        ValueError: it is not; the message lists those there are.
    """
    known = get_args(options)
    if not (isinstance(value, str) and value in known):
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")


class UnknownKeyError(KeyError, ValueError):
    """A key that is in no table: a failed look-up, and a wrong value."""

    __str__ = BaseException.__str__  # a KeyError would put it in quotation marks


def key_of(name: str, value: object, known: Iterable[object]) -> None:
    """Refuse what is no key of a table.

    Raises:
        UnknownKeyError: it is none; the message lists those there are.
    """
    keys = [*known]
    if value not in keys:
        listed = ", ".join(map(str, keys))
        raise UnknownKeyError(f"{name} must be one of {listed}, got {value!r}")


class NotWholeError(TypeError, ValueError):
    """A count that is no whole number: 2.5 has a wrong value and a wrong type."""


def whole_number(
    name: str,
    value: object,
    *,
    of: str = "",
    first: int | None = 1,
    most: int | None = None,
) -> int:
    """Return a count ``of`` something as Python's int; from ``first`` on, if not None.

    ``most`` is for what is played out one by one: more of them would run for hours.

    Raises:
        NotWholeError: it is no whole number of Python's or NumPy's.
        ValueError: it is too small, or too large to be played out.
    """
    if not is_whole(value):
        raise NotWholeError(f"{name} must be a whole number, got {value!r}")
    if first is not None and value < first:
        what = f"{first}{of and ' '}{of}"
        raise ValueError(f"{name} must be at least {what}, got {value}")
    if most is not None and value > most:
        what = f"{most:,}{of and ' '}{of and of + 's'}"
        raise ValueError(
            f"{name} must be at most {what}, which are played out one by one, "
            f"got {value}"
        )
    return int(value)


def whole(
    *, of: str = "", first: int = 1, most: int | None = None, **counts: object
) -> None:
    """Refuse counts ``of`` something that are no whole numbers in these limits."""
    for name, count in counts.items():
        whole_number(name, count, of=of, first=first, most=most)


def whole_fields(record: object, *fields: str) -> None:
    """Refuse a record whose ``fields`` are no whole numbers from 1 on."""
    whole(**{field: getattr(record, field) for field in fields})


def whole_numbers(name: str, numbers: Iterable[object]) -> None:
    """Refuse a sequence in which something is no whole number, such as 1.5 tokens.

    Raises:
        NotWholeError: one is not; the message shows it.
    """
    if not isinstance(numbers, Iterable):
        raise NotWholeError(f"{name} must be whole numbers, got {numbers!r}")
    for number in numbers:
        if not is_whole(number):
            raise NotWholeError(f"{name} must be whole numbers, got {number!r}")


def of_type(kind: type | UnionType, **things: object) -> None:
    """Refuse what is of another kind, by name."""
    for name, thing in things.items():
        if not isinstance(thing, kind):
            called = getattr(kind, "__name__", kind)
            raise TypeError(f"{name} must be of type {called}, got {thing!r}")


def at_least(name: str, value: float, least: float) -> None:
    """Refuse what is below ``least``, infinite or not a number."""
    _float("least", least)
    if not (math.isfinite(_float(name, value)) and value >= least):
        raise ValueError(f"{name} must be finite and at least {least:g}, got {value}")


def positive(name: str, value: SupportsFloat) -> float:
    """Return a value as a float; refuse zero, what is below it, infinite or no number.

    Raises:
        ValueError: it is one of these.
    """
    number = _float(name, value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    if number <= 0:
        raise ValueError(f"{name} must be positive, got {number:g}")
    return number


def _float(name: str, value: SupportsFloat) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf
