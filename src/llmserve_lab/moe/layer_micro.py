"""A layer of a decode step as it is printed, so that a table of it adds up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerMicro:
    """Parts of a layer on ``ep`` GPUs in whole µs; of a half batch in tenths.

    ``kernels`` is the fixed time of a layer's kernels, in tenths, too.
    """

    ep: float
    experts: int
    rest: int
    sending: int
    half_works: float
    half_sends: float
    kernels: float

    @property
    def in_sequence(self) -> int:
        """One part after another."""
        return self.experts + self.rest + self.sending

    @property
    def halves(self) -> float:
        """Two halves, one of which works while the other is sent."""
        return round(2 * max(self.half_works, self.half_sends), 1)

    @property
    def whole_in_sequence(self) -> int:
        """In sequence, with the fixed time of all kernels."""
        return round(self.in_sequence + self.kernels)

    @property
    def whole_halves(self) -> int:
        """Two halves, with the fixed time of all kernels of each."""
        return round(self.halves + 2 * self.kernels)
