"""Argument checks: one way to refuse a count, a type, a range or an unknown option."""

from __future__ import annotations

import math
from numbers import Integral
from types import UnionType
from typing import TypeGuard, get_args


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number of Python's or NumPy's; a truth value is none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def one_of(name: str, value: object, options: object) -> None:
    """Refuse what is not among the options of a ``Literal``.

    Raises:
        ValueError: it is not; the message lists those there are.
    """
    known = get_args(options)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def whole(*, of: str = "", first: int = 1, **counts: object) -> None:
    """Refuse counts ``of`` something that are no whole numbers from ``first`` on."""
    for name, count in counts.items():
        if not is_whole(count):
            raise ValueError(f"{name} must be a whole number, got {count!r}")
        if count < first:
            what = f"{first}{of and ' '}{of}"
            raise ValueError(f"{name} must be at least {what}, got {count}")


def of_type(kind: type | UnionType, **things: object) -> None:
    """Refuse what is of another kind, by name."""
    for name, thing in things.items():
        if not isinstance(thing, kind):
            called = getattr(kind, "__name__", kind)
            raise TypeError(f"{name} must be of type {called}, got {thing!r}")


def at_least(name: str, value: float, least: float) -> None:
    """Refuse what is below ``least``, infinite or not a number."""
    if not (math.isfinite(value) and value >= least):
        raise ValueError(f"{name} must be finite and at least {least:g}, got {value}")


def positive(name: str, value: float) -> None:
    """Refuse zero, what is below it, infinite or not a number."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive, got {value}")
