"""A model is a list of weight tensors; everything about its size is counted over it."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
