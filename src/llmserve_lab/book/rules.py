"""Two rules that any argument may have to keep, asked the same way everywhere."""

from __future__ import annotations

from numbers import Integral
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
