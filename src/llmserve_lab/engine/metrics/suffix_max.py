"""The longest gap since some tick: keep the gaps that no later one has exceeded."""

from __future__ import annotations

from bisect import bisect_left


class SuffixMax:
    """Values by rising tick; each is higher than all that came after it."""

    def __init__(self) -> None:
        self._ticks: list[int] = []
        self._values: list[float] = []

    def push(self, tick: int, value: float) -> None:
        """Add a value; those that are not higher will never be asked for again."""
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
        """Forget everything."""
        self._ticks.clear()
        self._values.clear()
