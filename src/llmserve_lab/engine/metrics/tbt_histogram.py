"""Histogram of inter-token latency (time between tokens, TBT), kept in closed form.

A span of n iterations with b requests makes n·b gaps, and four numbers say them all.
The histogram is exact for 16,384 spans; then they are poured into logarithmic bins
0.11 % wide, so that a trace of any length needs no more memory.
"""

from __future__ import annotations

from array import array
from math import ceil, floor
from typing import Any

import numpy as np

from llmserve_lab.engine.metrics.percentile import Percentile, check_percentile

Floats = np.ndarray[Any, np.dtype[np.float64]]

MOST_RUNS = 16_384
BINS_PER_DECADE = 2_048  # a bin is 0.11 % wide
SHORTEST_S, DECADES = 1e-9, 15


class TbtHistogram:
    """Histogram of the gaps between a request's tokens, in seconds."""

    def __init__(self) -> None:
        self.count = 0
        self.total_s = 0.0
        self.longest_s = 0.0
        self._runs = array("d")
        self._bins: Floats | None = None

    def add(
        self, first_s: float, *, slope_s: float = 0.0, count: int = 1, times: int = 1
    ) -> None:
        """``times`` requests had gaps of first, first + slope, …, ``count`` of them."""
        last_s = first_s + (count - 1) * slope_s
        self.count += count * times
        self.total_s += times * count * (first_s + last_s) / 2
        if last_s > self.longest_s:
            self.longest_s = last_s
        self._runs.extend((first_s, slope_s, count, times))
        if len(self._runs) >= 4 * MOST_RUNS:
            self._pour()

    def values(self) -> tuple[Floats, Floats]:
        """Lengths in s in rising order, and how many gaps have each."""
        lengths, counts = self._spread()
        if self._bins is not None:
            filled = np.flatnonzero(self._bins)
            lengths = np.concatenate([lengths, _middle_s(filled)])
            counts = np.concatenate([counts, self._bins[filled]])
        order = np.argsort(lengths, kind="stable")
        return lengths[order], counts[order]

    def percentile(self, q: float, *, method: Percentile = "linear") -> float:
        """Percentile of all gaps in s, by default as NumPy and vLLM take it.

        Args:
            q: in percent.
            method: ``linear`` interpolates between the two gaps next to the place
                (N − 1)·q/100 in the sorted list; ``inverted_cdf`` returns the smallest
                gap that at least ``q`` % do not exceed, as GuideLLM does.

        Raises:
            ValueError: there is no gap, ``q`` is not in [0, 100], or the method is
                another.
        """
        check_percentile(q, method)
        if not self.count:
            raise ValueError("gaps must hold at least one gap, got none")
        lengths, counts = self.values()
        ends = np.cumsum(counts)  # 1 + the last place in the sorted list of each length
        if method == "inverted_cdf":
            # q/100·N is often a whole number; rounded up by one digit too much, it
            # would be the place of the next gap.
            first = np.searchsorted(ends, q / 100 * self.count * (1 - 1e-12))
            return float(lengths[min(int(first), len(lengths) - 1)])
        place = q / 100 * (self.count - 1)
        below, above = np.searchsorted(ends, (floor(place), ceil(place)), side="right")
        span_s = float(lengths[above] - lengths[below])
        return float(lengths[below]) + (place - floor(place)) * span_s

    def _spread(self) -> tuple[Floats, Floats]:
        """Each iteration's gap, and how many requests had it."""
        first, slope, count, times = np.array(self._runs).reshape(-1, 4).T
        many = count.astype(np.int64)
        run = np.repeat(np.arange(len(many)), many)
        # j of each gap in its run: its place among all, less where its run begins
        step = np.arange(len(run)) - np.repeat(np.cumsum(many) - many, many)
        return first[run] + slope[run] * step, times[run]

    def _pour(self) -> None:
        """Empty the runs into the bins."""
        lengths, counts = self._spread()
        size = BINS_PER_DECADE * DECADES
        found = np.bincount(_bin(lengths), weights=counts, minlength=size)
        before = np.zeros(size) if self._bins is None else self._bins
        self._bins = before + found
        self._runs = array("d")


def _bin(lengths: Floats) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The bin of each length; the outer bins hold what is beyond them."""
    decades = np.log10(np.maximum(lengths, SHORTEST_S) / SHORTEST_S)
    places = (decades * BINS_PER_DECADE).astype(np.int64)
    return np.minimum(places, BINS_PER_DECADE * DECADES - 1)


def _middle_s(places: Any) -> Floats:
    """The length in s at the middle of each bin, on a logarithmic scale."""
    return SHORTEST_S * 10 ** ((np.asarray(places) + 0.5) / BINS_PER_DECADE)
