"""A layer of a decode step in whole microseconds, so that a table of it adds up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerMicro:
    """Parts of a layer on a group of ``ep`` GPUs, and of a half of its batch, in µs."""

    ep: float
    experts: int
    rest: int
    sending: int
    half_works: int
    half_sends: int

    @property
    def in_sequence(self) -> int:
        """One part after another."""
        return self.experts + self.rest + self.sending

    @property
    def overlapped(self) -> int:
        """Two halves, one of which works while the other is sent; or in sequence."""
        return min(2 * max(self.half_works, self.half_sends), self.in_sequence)
