"""What a number must be, said the same way wherever one comes in."""

from __future__ import annotations

import math
from numbers import Integral


def whole(*, of: str = "", **counts: object) -> None:
    """Refuse counts ``of`` something that are no whole numbers from 1 on, by name."""
    for name, count in counts.items():
        if not isinstance(count, Integral):
            raise ValueError(f"{name} must be a whole number, got {count!r}")
        if count < 1:
            raise ValueError(f"{name} must be at least 1{of and ' '}{of}, got {count}")


def at_least(name: str, value: float, least: float) -> None:
    """Refuse what is below ``least``, infinite or not a number."""
    if not (math.isfinite(value) and value >= least):
        raise ValueError(f"{name} must be finite and at least {least:g}, got {value}")


def positive(name: str, value: float) -> None:
    """Refuse zero, what is below it, infinite or not a number."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive, got {value}")
