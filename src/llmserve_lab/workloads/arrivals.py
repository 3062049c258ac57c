"""When requests arrive: one after the other, in endless streams of times in seconds.

A stream does not end and is never stored: its reader takes what is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np

from llmserve_lab.checks import positive

BURSTIEST = 1e3  # gaps' deviation over their mean: above it a law is all zeros
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
    positive("rate_per_s", rate_per_s)
    positive("cv", cv)
    if cv > BURSTIEST:
        raise ValueError(f"cv must be at most {BURSTIEST:g}, got {cv:g}")
    shape = cv**-2
    now = 0.0
    while True:
        for gap in rng.gamma(shape, 1 / (shape * rate_per_s), BLOCK).tolist():
            now += gap
            yield now


def at_once() -> Iterator[float]:
    """All at time zero: a batch job, or the queue of a closed loop."""
    return repeat(0.0)
