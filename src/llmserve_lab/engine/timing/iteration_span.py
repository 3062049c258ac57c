"""A span of like iterations, timed in closed form: what the engine leaps over.

While the same requests run, each iteration caches the same number of tokens, and each
of them makes the next iteration longer by the same amount: the j-th takes first +
j·slope seconds, and n of them a quadratic in n. An iteration is the longer of two
times, computing and reading, so a span ends where they change places: beyond that
point another line holds.
"""

from __future__ import annotations

from bisect import bisect_left

from llmserve_lab.engine.timing.cost import IterationCost
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.engine.timing.time_tolerance import earliest


class IterationSpan:
    """``count`` iterations from ``start_s`` on, the first carrying ``load``.

    From one to the next, ``more_pairs`` pairs and ``more_kv`` tokens of cache come on
    top. A run ends at the latest where computing and reading change places.
    """

    __slots__ = (
        "compute_s",
        "count",
        "end_s",
        "first_s",
        "load",
        "memory_s",
        "more_compute_s",
        "more_memory_s",
        "slope_s",
        "start_s",
    )

    def __init__(
        self,
        cost: IterationCost,
        load: IterationLoad,
        *,
        start_s: float,
        count: int,
        more_pairs: int,
        more_kv: int,
    ) -> None:
        rows, pairs, kv_tokens, requests, prompts = load
        self.load, self.start_s = load, start_s
        row_s = rows * cost.row_s
        read_s = cost.read_s(rows) if cost.experts_s else cost.weights_s
        pair_s, cache_s = pairs * cost.pair_s, kv_tokens * cost.kv_token_s
        more_compute_s = more_pairs * cost.pair_s
        more_memory_s = more_kv * cost.kv_token_s
        fixed_s = cost.collective_s + rows * cost.collective_row_s + cost.overhead_s
        fixed_s += requests * cost.request_s
        if prompts:
            fixed_s += cost.prompt_s
        growth_s = 0.0
        computing, reading = (row_s, 0.0), (read_s, 0.0)
        # What grows decides where the span may end. Attention in kernels of its own
        # hides nothing and is hidden by nothing: the bills that overlap stay constant,
        # never change places, and the growth is a plain sum beside them.
        if cost.attention_apart:
            fixed_s += pair_s + cache_s
            growth_s = more_compute_s + more_memory_s
        else:
            computing = row_s + pair_s, more_compute_s
            reading = read_s + cache_s, more_memory_s
        first_s, slope_s, count = _overlapped(computing, reading, cost.overlap, count)
        self.compute_s, self.more_compute_s = row_s + pair_s, more_compute_s
        self.memory_s, self.more_memory_s = read_s + cache_s, more_memory_s
        self.first_s, self.slope_s = first_s + fixed_s, slope_s + growth_s
        self.count = count
        self.end_s = self.boundary_s(count)

    def boundary_s(self, done: int) -> float:
        """When ``done`` of the iterations are over."""
        more = self.slope_s * (done * (done - 1) / 2)
        return self.start_s + (done * self.first_s + more)

    def cut(self, now_s: float) -> None:
        """End at the first boundary that is not before the moment of ``now_s``.

        A boundary that comes before it by rounding alone is put there, or the clock of
        the engine would run back.
        """
        if self.count > 1 and now_s < self.end_s:
            inner, from_s = range(1, self.count), earliest(now_s)
            self.count = 1 + bisect_left(inner, from_s, key=self.boundary_s)
            self.end_s = self.boundary_s(self.count)
        self.end_s = max(self.end_s, now_s)

    def delay(self, seconds: float) -> None:
        """Let the one iteration of the span begin later, its inputs being copied."""
        self.first_s += seconds
        self.end_s += seconds

    def total(self, first: float, more: float) -> float:
        """Sum of ``first`` + j·``more`` over the iterations of the run."""
        return self.count * first + more * (self.count * (self.count - 1) / 2)

    @property
    def compute_total_s(self) -> float:
        """Seconds in which the run computes."""
        return self.total(self.compute_s, self.more_compute_s)

    @property
    def memory_total_s(self) -> float:
        """Seconds in which the run reads."""
        return self.total(self.memory_s, self.more_memory_s)

    def weighted_total(self, first: float, more: float) -> float:
        """Sum of (``first`` + j·``more``) · seconds of iteration j.

        A product of two lines in j, so it takes Σ 1 = n, Σ j and Σ j².
        """
        n = self.count
        ones, twos = n * (n - 1) / 2, (n - 1) * n * (2 * n - 1) / 6
        line = first * self.slope_s + more * self.first_s
        return first * self.first_s * n + line * ones + more * self.slope_s * twos


def _overlapped(
    computing: tuple[float, float],
    reading: tuple[float, float],
    overlap: float,
    count: int,
) -> tuple[float, float, int]:
    """First time and slope of two bills that overlap, and for how many iterations.

    A bill is what it comes to at first and how much more from one to the next: until
    the two change places, the longer counts and of the shorter what is not hidden.
    """
    compute_s, more_compute_s = computing
    memory_s, more_memory_s = reading
    ahead, gain, shown = (
        compute_s - memory_s,
        more_compute_s - more_memory_s,
        1 - overlap,
    )
    # Before iteration j the lead is ahead + j·gain, which is zero at j = -ahead / gain:
    # iterations 0 to ⌊j⌋ have the sign of the first, those after it another line.
    if count > 1 and ahead * gain < 0 and count > -ahead / gain:
        count = int(-ahead / gain) + 1
    if ahead > 0 or (ahead == 0 and gain >= 0):
        return (
            compute_s + shown * memory_s,
            more_compute_s + shown * more_memory_s,
            count,
        )
    return memory_s + shown * compute_s, more_memory_s + shown * more_compute_s, count
