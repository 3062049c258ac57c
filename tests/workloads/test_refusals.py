"""A law or a load that cannot be is refused by name."""

from collections.abc import Callable

import numpy as np
import pytest

from llmserve_lab.workloads import (
    Always,
    Bounded,
    Empirical,
    Geometric,
    Lognormal,
    closed_requests,
    faster,
    poisson,
)
from tests.workloads.test_laws import LAWS, TALK, draws


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Always(0), "tokens must be at least 1 token, got 0"),
        (lambda: Geometric(0.5), "mean must be finite and at least 1, got 0.5"),
        (lambda: Lognormal(mean=0, cv=1), "mean must be positive, got 0"),
        (lambda: Lognormal(mean=1, cv=-1), "cv must be positive, got -1"),
        (
            lambda: Bounded(law=Always(2), low=5, high=4),
            "high must be finite and at least 5",
        ),
        (lambda: Empirical(()), "observed must hold at least 1 length, got none"),
        (lambda: Empirical((2.5,)), "observed must be a whole number"),  # type: ignore
        (lambda: Empirical((4, 0)), "observed must be at least 1 token, got 0"),
        (lambda: draws(Lognormal(mean=1e30, cv=1)), "lengths below 2⁶³ tokens, got"),
        (lambda: next(TALK.requests(num_requests=1, seed=-1)), "seed must be at least"),
        (
            lambda: closed_requests(
                prompt=LAWS[0],
                output=LAWS[0],
                num_requests=1,
                seed=None,  # type: ignore
            ),
            "seed must be a whole number, got None",
        ),
        (lambda: next(poisson(0, np.random.default_rng())), "rate_per_s must be pos"),
        (lambda: faster([], times=0), "times must be positive, got 0"),
        (lambda: next(TALK.requests(num_requests=0, seed=0)), "num_requests must be"),
    ],
)
def test_what_cannot_be_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
