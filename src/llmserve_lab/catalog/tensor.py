"""A model is a list of weight tensors; everything about its size is counted over it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

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
        value = getattr(record, field)
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{field} must be a whole number, got {value!r}")
        if value < 1:
            raise ValueError(f"{field} must be at least 1, got {value}")
