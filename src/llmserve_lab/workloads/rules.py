"""What a number must be, said the same way everywhere in the room."""

from __future__ import annotations

import math


def at_least(name: str, value: float, least: float) -> None:
    """Refuse what is below ``least``, infinite or not a number."""
    if not (math.isfinite(value) and value >= least):
        raise ValueError(f"{name} must be at least {least:g}, got {value}")


def positive(name: str, value: float) -> None:
    """Refuse zero, what is below it, infinite or not a number."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive, got {value}")
