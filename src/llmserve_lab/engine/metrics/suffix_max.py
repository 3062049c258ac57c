"""Suffix maximum over a monotonic stack: the highest of all values since some tick."""

from __future__ import annotations

from bisect import bisect_left


class SuffixMax:
    """Maximum of all values pushed at a tick or later, in O(log n).

    A value that a later one has reached can never be the answer again, so it is
    dropped: what is kept falls from tick to tick, and the answer to "since tick t" is
    the first that is left from t on.
    """

    def __init__(self) -> None:
        self._ticks: list[int] = []
        self._values: list[float] = []

    def push(self, tick: int, value: float) -> None:
        """Add a value at a tick that is not before the last one."""
        # ≤ and not <: of equal values the later one answers for every tick that the
        # earlier one does.
        while self._values and self._values[-1] <= value:
            self._values.pop()
            self._ticks.pop()
        self._ticks.append(tick)
        self._values.append(value)

    def highest_since(self, tick: int) -> float:
        """The highest value at ``tick`` or later.

        Raises:
            ValueError: there is none.
        """
        place = bisect_left(self._ticks, tick)
        if place == len(self._values):
            raise ValueError(f"tick must not be after the last value, got {tick}")
        return self._values[place]

    def clear(self) -> None:
        """Drop all values."""
        self._ticks.clear()
        self._values.clear()
