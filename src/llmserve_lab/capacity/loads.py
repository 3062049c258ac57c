"""Loads that change: a burst of half an hour, and a synthetic day."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llmserve_lab.capacity.trace import MINUTE_S
from llmserve_lab.checks import at_least, positive
from llmserve_lab.engine import Request
from llmserve_lab.running_example import ANSWER, PROMPT
from llmserve_lab.workloads import Bounded, Geometric, Lognormal

MOST_DRAWN = 10**6  # requests
Rate = Callable[[float], float]  # requests a second at a time in s


def ramp(
    *, low: float, high: float, up_min: float, ramp_min: float, down_min: float
) -> Rate:
    """A rate that rises from ``low`` to ``high`` in ``ramp_min`` and falls as fast."""
    knots = np.array([0, up_min, up_min + ramp_min, down_min, down_min + ramp_min])
    rates = (low, low, high, high, low)
    return lambda now_s: float(np.interp(now_s / MINUTE_S, knots, rates))


def arrivals(rate: Rate, *, seconds: float, most: float, seed: int) -> np.ndarray:
    """Poisson arrivals whose rate changes, by thinning (Lewis and Shedler 1979).

    ``most`` is a rate that is never exceeded.
    """
    at_least("seconds", seconds, 0)
    positive("most", most)
    if not most * seconds <= MOST_DRAWN:
        raise ValueError(
            f"most × seconds must be at most {MOST_DRAWN:,} requests, "
            f"got {most * seconds:g}"
        )
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1 / most, int(1.1 * most * seconds) + 100))
    times = times[times < seconds]
    share = np.array([rate(now_s) for now_s in times]) / most
    return times[rng.random(len(times)) < share]


def asked(
    rate: Rate, *, seconds: float, most: float, seed: int = 1
) -> tuple[Request, ...]:
    """Requests at a rate that changes; prompts and answers have the usual means."""
    times = arrivals(rate, seconds=seconds, most=most, seed=seed)
    lengths = np.random.default_rng(seed + 1)
    law = Bounded(law=Lognormal(mean=PROMPT, cv=0.5), high=4 * PROMPT)
    prompts = law.draw(lengths, len(times)).tolist()
    answers = Geometric(ANSWER).draw(lengths, len(times)).tolist()
    rows = zip(times.tolist(), prompts, answers, strict=True)
    return tuple(
        Request(arrival_s=at, prompt_len=prompt, output_len=answer, id=number)
        for number, (at, prompt, answer) in enumerate(rows)
    )
