"""The best ratio, searched in whole numbers so fine that nobody sees the grain."""

from __future__ import annotations

import random
from collections.abc import Callable

from llmserve_lab.afd import formulas as f
from llmserve_lab.formula.formula import Formula
from tests.afd.counts_times import attend, in_a_row, known, passed
from tests.counted import Case, counts

GRAIN = 10**12  # a ratio of one
Period = Callable[[int, int, int, int], int]  # Attention, wire, FFN, batches


def around(attn: int, wire: int, ffn: int, m: int) -> int:
    """m batches go round two machines: time of twenty steps of each, once it runs."""
    back, free, busy = [0] * m, 0, 0
    for n in range(30 * m):
        if n == 10 * m:
            early = busy
        free = max(free, back[n]) + attn
        busy = max(busy, free + wire) + ffn
        back.append(busy)
    return busy - early


def in_line(attn: int, wire: int, ffn: int, m: int) -> int:
    """Machines in a row, each with the next batch at hand."""
    return in_a_row(attn, wire, ffn)


def to_the_ffn(attn: int, wire: int, ffn: int, m: int) -> int:
    """The same, with batches that are at the FFN at once: it alone is waited for."""
    return in_a_row(0, 0, ffn)


def alone_on_the_loop(attn: int, wire: int, ffn: int, m: int) -> int:
    """A single batch goes round and never waits: what it takes is shared by all."""
    return around(attn, wire, ffn, 1)


def searched(v: dict[str, float], period: Period) -> float:
    """Where one grain more Attention stops paying."""
    attn, wire = attend(v), passed(v, "comm", int(v["batch"]))
    each, fixed = int(v["a_ffn"] * v["batch"]), int(v["b_ffn"])

    def time(ratio: int) -> int:
        ffn = each * ratio + fixed * GRAIN
        return period(attn * GRAIN, wire * GRAIN, ffn, int(v["n_batches"]))

    low, high = 0, 1000 * GRAIN
    while high - low > 1:
        r = (low + high) // 2
        more = (r + 1) * (r + GRAIN) * time(r) > r * (r + 1 + GRAIN) * time(r + 1)
        low, high = (r, high) if more else (low, r)
    return high / GRAIN


def best(formula: Formula, period: Period) -> None:
    """Register a search."""

    def count(rng: random.Random) -> Case:
        values = known(rng)
        return Case(formula.given(values), searched(values, period))

    counts(formula, by="enumerated")(count)


best(f.RATIO_PEAK, to_the_ffn)
best(f.RATIO_LOOP_PEAK, alone_on_the_loop)
best(f.RATIO_BEST, in_line)
best(f.RATIO_PIPELINE, around)


@counts(f.BEST_TOKENS_PER_S, by="enumerated")
def best_tokens_per_s(rng: random.Random) -> Case:
    """Go to the best ratio and see what comes out there."""
    v = known(rng)
    r = searched(v, in_line)
    ffn = v["b_ffn"] + v["a_ffn"] * r * v["batch"]
    scale = 10**9
    times = (attend(v), passed(v, "comm", int(v["batch"])), ffn)
    step_s = in_a_row(*(round(scale * time) for time in times)) / scale
    return Case(f.BEST_TOKENS_PER_S.given(v), r * v["batch"] / step_s / (r + 1))
