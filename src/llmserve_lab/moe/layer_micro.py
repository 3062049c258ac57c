"""A layer of a decode step as it is printed, so that a table of it adds up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerMicro:
    """Parts of a layer on ``ep`` GPUs in whole µs, of a half batch in tenths."""

    ep: float
    experts: int
    rest: int
    sending: int
    half_works: float
    half_sends: float

    @property
    def in_sequence(self) -> int:
        """One part after another."""
        return self.experts + self.rest + self.sending

    @property
    def overlapped(self) -> int:
        """Two halves, one of which works while the other is sent; or in sequence."""
        halves = 2 * max(self.half_works, self.half_sends)
        return min(round(halves), self.in_sequence)
