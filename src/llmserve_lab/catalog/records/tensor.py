"""A model is a list of weight tensors; everything about its size is counted over it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from llmserve_lab.checks import is_whole

Weight = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Tensor:
    """``copies`` equal weight tensors, of which one token passes through ``active``."""

    name: str
    shape: tuple[int, ...]
    copies: int
    active: int

    @property
    def params(self) -> int:
        """Parameters stored, over all copies."""
        return math.prod(self.shape) * self.copies

    @property
    def params_active(self) -> int:
        """Parameters that one token is multiplied with, over the copies it meets."""
        return math.prod(self.shape) * self.active


def whole_numbers(record: Any, *fields: str) -> None:
    """Check that each field of ``record`` is a whole number of at least 1.

    Raises:
        TypeError: a field is not an int.
        ValueError: a field is below 1.
    """
    for field in fields:
        whole_number(field, getattr(record, field))


def whole_number(name: str, value: Any, *, least: int = 1) -> None:
    """Check that ``value``, called ``name``, is a whole number of at least ``least``.

    Raises:
        TypeError: it is not an int.
        ValueError: it is too small.
    """
    if not is_whole(value):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def positive(name: str, value: Any) -> float:
    """Return ``value``, called ``name``, as a float that is finite and above zero.

    Raises:
        ValueError: it is not.
    """
    number = float(value)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {number:g}")
    return number
