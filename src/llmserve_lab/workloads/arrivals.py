"""When requests arrive: one after the other, in endless streams of times in seconds.

A stream does not end and is never stored: its reader takes what is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np

from llmserve_lab.checks import of_type, positive

BURSTIEST = 1e3  # gaps' deviation over their mean: above it a law is all zeros
CALMEST = 1e-6  # below it gaps do not differ in any digit that is kept
SLOWEST = 1e-30  # requests a second: one in many ages of the universe
BLOCK = 1024  # gaps drawn at once; how many are taken changes no number


def poisson(rate_per_s: float, rng: np.random.Generator) -> Iterator[float]:
    """Times of arrivals that know nothing of each other, ``rate_per_s`` on average."""
    return bursty(rate_per_s, cv=1.0, rng=rng)


def bursty(
    rate_per_s: float, *, cv: float, rng: np.random.Generator
) -> Iterator[float]:
    """Times whose gaps follow a Gamma law with mean 1/rate and this ``cv``.

    ``cv`` is the gaps' standard deviation over their mean: above 1 they come in bursts,
    at 1 it is a Poisson stream, below 1 they are more even than chance.
    """
    of_type(np.random.Generator, rng=rng)
    positive("rate_per_s", rate_per_s)
    positive("cv", cv)
    if cv > BURSTIEST:
        raise ValueError(f"cv must be at most {BURSTIEST:g}, got {cv:g}")
    if cv < CALMEST:
        raise ValueError(f"cv must be at least {CALMEST:g}, got {cv:g}")
    if rate_per_s < SLOWEST:
        rule = f"at least {SLOWEST:g} requests a second"
        raise ValueError(f"rate_per_s must be {rule}, got {rate_per_s:g}")
    shape = cv**-2
    now = 0.0
    while True:
        for gap in rng.gamma(shape, 1 / (shape * rate_per_s), BLOCK).tolist():
            now += gap
            yield now


def at_once() -> Iterator[float]:
    """All at time zero: a batch job, or the queue of a closed loop."""
    return repeat(0.0)
