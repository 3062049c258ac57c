"""Workloads: arrivals and lengths put together, requests one after the other.

In an open loop arrivals do not depend on the engine. In a closed loop a fixed number of
clients wait for their answers; there the engine itself decides when the next request
comes, and only the lengths are given here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf

import numpy as np

from llmserve_lab.checks import of_type, positive, whole
from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.workloads.arrivals import BLOCK, at_once, bursty
from llmserve_lab.workloads.lengths import LengthLaw, are_laws

MOST_DRAWN = 4_000_000  # requests: a simulated hour at a thousand a second


def poisson_requests(
    *,
    rate_per_s: float,
    prompt: LengthLaw,
    output: LengthLaw,
    num_requests: int,
    seed: int,
) -> Iterator[Request]:
    """Poisson arrivals (an open loop): independent requests at a mean rate."""
    return bursty_requests(
        rate_per_s=rate_per_s,
        cv=1.0,
        prompt=prompt,
        output=output,
        num_requests=num_requests,
        seed=seed,
    )


def bursty_requests(
    *,
    rate_per_s: float,
    cv: float,
    prompt: LengthLaw,
    output: LengthLaw,
    num_requests: int,
    seed: int,
) -> Iterator[Request]:
    """An open loop whose gaps follow a Gamma law; ``cv`` as of :func:`bursty`.

    Times, prompts and outputs are drawn independently: another rate leaves the lengths
    as they are, and stretches the same times.
    """
    times, *lengths = _seeds(seed)
    arrivals = bursty(rate_per_s, cv=cv, rng=np.random.default_rng(times))
    return _together(arrivals, prompt, output, num_requests, lengths)


def closed_requests(
    *, prompt: LengthLaw, output: LengthLaw, num_requests: int, seed: int
) -> Iterator[Request]:
    """What the clients of a closed loop ask for, in this order, all at time zero.

    ``simulate(…, clients=n)`` hands the next one to the client that is answered first.
    """
    _, *lengths = _seeds(seed)
    return _together(at_once(), prompt, output, num_requests, lengths)


def _seeds(seed: int) -> list[np.random.SeedSequence]:
    """One for the times, one for the prompts, one for the outputs."""
    whole(first=0, seed=seed)
    return np.random.SeedSequence(seed).spawn(3)


def _together(
    arrivals: Iterator[float],
    prompt: LengthLaw,
    output: LengthLaw,
    num_requests: int,
    seeds: list[np.random.SeedSequence],
) -> Iterator[Request]:
    whole(of="request", most=MOST_DRAWN, num_requests=num_requests)
    are_laws(prompt=prompt, output=output)
    prompts, outputs = (
        _drawn(law, np.random.default_rng(seed))
        for law, seed in zip((prompt, output), seeds, strict=True)
    )
    drawn = zip(range(num_requests), arrivals, prompts, outputs, strict=False)
    for number, arrival_s, prompt_len, output_len in drawn:
        yield Request(
            arrival_s=arrival_s, prompt_len=prompt_len, output_len=output_len, id=number
        )


def _drawn(law: LengthLaw, rng: np.random.Generator) -> Iterator[int]:
    """Lengths without end, drawn a block at a time."""
    while True:
        yield from law.draw(rng, BLOCK).tolist()


def faster(requests: Iterable[Request], *, times: float) -> Iterator[Request]:
    """The same requests at ``times`` the rate: every arrival is that much earlier."""
    positive("times", times)
    of_type(Iterable, requests=requests)
    return (_earlier(each, times) for each in requests)


def _earlier(requests: Request, times: float) -> Request:
    of_type(Request, requests=requests)
    if requests.arrival_s / times == inf:
        raise ValueError(f"times must keep arrivals finite, got {times}")
    return replace(requests, arrival_s=requests.arrival_s / times)
