"""What the twin's error leaves undecided: a target, a schedule, the size of a group.

Each of the chapter's three decisions is taken again with the twin as wrong as it has
been seen to be. The unevenness of experts is one more unknown: a GPU that holds many
experts averages their loads, one that holds two does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    KIMI_DECODE,
    SGLANG_DECODE,
    SGLANG_DRAFTED,
    Deployment,
)
from llmserve_lab.checks import positive
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import ablations
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.group_size import (
    WAYS,
    dealt_evenly,
    fits_as_served,
)
from llmserve_lab.deepseek.evaluation.predictions import point
from llmserve_lab.deepseek.evaluation.published_runs import run_as
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.model.step_model import Twin

DEVICE = "h100-sxm"
WIDE = (SGLANG_DECODE, SGLANG_DRAFTED, KIMI_DECODE, DEEPSEEK_DECODE)
FITTED_GPUS = 32  # of the prefill runs that the balancedness was found in
POINTS, FAR = 20_001, 12.0  # of the integral over the largest of some normal loads


def twins(
    ep: int, *, device: str = DEVICE, lean: bool = False, **changes: Any
) -> tuple[Twin, ...]:
    """The twin of a group in both schedules; of H100s, if nothing else is said.

    ``lean`` is with the fewest redundant experts, and with caches in FP8.
    """
    place = setup(device, ep)
    known = replace(dealt_evenly(place, lean=lean), **changes)
    return tuple(
        Twin(setup=place, assumptions=replace(known, overlap=way)) for way in WAYS
    )


def alone_s(ep: int, context: float) -> float:
    """Seconds of the shortest step there is: one request on each GPU."""
    return min(float(t.step_s(batch=1, context=context)) for t in twins(ep))


def most_within(ep: int, context: float, tpot_s: float, error: float = 0.0) -> int:
    """Requests on a GPU that keep a target, if steps are predicted with this error."""
    slowest = 1 / (tpot_s * (1 + error))
    return max(t.batch_at(slowest, context=context) for t in twins(ep))


def kept_at(tpot_s: float, error: float = 0.0) -> float:
    """Share of the opening batch's rate that is left where users keep a target.

    Every step is predicted with the same error, so that it leaves both rates alike.

    Raises:
        ValueError: steps would take less than no time.
    """
    positive("1 + error", 1 + error)
    context, ours = float(worked.CONTEXT), twins(worked.PLACE.n_gpus)
    slowest = 1 / (tpot_s * (1 + error))
    batches = [t.batch_at(slowest, context=context, in_memory=True) for t in ours]
    at_target, opening = (
        max(
            float(t.gpu_tokens_per_s(batch=n, context=context)) if n else 0.0
            for t, n in zip(ours, of, strict=True)
        )
        for of in (batches, [worked.MANY] * len(ours))
    )
    return at_target / opening


def rate_at(ep: int, context: float, tpot_s: float, **changes: Any) -> float:
    """Tokens/s of a GPU at a target, with other assumptions; 0 if none fits."""
    found = []
    for twin in twins(ep, **changes):
        fits = fits_as_served(twin, context)
        batch = min(fits, twin.batch_at(1 / tpot_s, context=context))
        if batch:
            found.append(float(twin.gpu_tokens_per_s(batch=batch, context=context)))
    return max(found, default=0.0)


@dataclass(frozen=True)
class Undecided:
    """Requests between which a predicted gain is smaller than gains have erred."""

    least: int
    most: int
    error: float


@cache
def overlap() -> Undecided:
    """Where the twin cannot say which schedule is faster, on the standing example.

    The error is the largest of the published gains in decode, as a share of a rate.
    """
    found = list(ablations.overlap_ablations(book_assumptions()))[:-1]  # no prefill
    error = max(abs(each.predicted - each.measured[0]) for each in found)
    close = [n for n in range(1, worked.MANY) if abs(gain(n)) <= error]
    return Undecided(close[0], close[-1], error)


def gain(requests: int) -> float:
    """What two halves gain over one batch, as a share of its rate."""
    one, two = (worked.step_ms(requests, way) for way in ("none", "halves"))
    return one / two - 1


def drafting_gain(kept: float) -> float:
    """What one token drafted gains on the standing example, if so many are kept.

    As a share of the rate without drafts, in two halves.
    """
    ours = worked.twin("halves")
    drafting = replace(ours.assumptions, n_draft=1, accepted=1 + kept)
    both = (Twin(setup=ours.setup, assumptions=drafting), ours)
    made, bare = (
        float(each.gpu_tokens_per_s(batch=worked.MANY, context=worked.CONTEXT))
        for each in both
    )
    return made / bare - 1


def uncharged_gain() -> float:
    """What overlap would gain in the opening's run, if halves did not slow each other.

    As a share of the rate of one batch.
    """
    free = replace(book_assumptions(), overlap_slowdown=0.0)
    return ablations.overlap_gain(SGLANG_DECODE, free, batch=worked.MANY) - 1


def largest_of(n: int) -> float:
    """Expected largest of n independent standard normal numbers."""
    from llmserve_lab.extras import stats

    x = np.linspace(-FAR, FAR, POINTS)
    density = n * stats.norm.pdf(x) * stats.norm.cdf(x) ** (n - 1)
    return float(np.trapezoid(x * density, x))


def balance_with(held: float, gpus: int) -> float:
    """Balancedness of a group, if experts' loads scatter independently.

    The load of a GPU is the mean of the experts that it has ``held``, so that its
    spread falls with the root of their number; the busiest is the largest of ``gpus``
    such loads. The spread of one expert is the one with which the group that was
    measured comes out as measured.
    """
    positive("held", held)
    assumed = book_assumptions()
    measured = setup(DEVICE, FITTED_GPUS).local_experts(assumed.n_redundant)
    fitted = measured**0.5 * (1 / assumed.balancedness - 1)
    spread = fitted / largest_of(FITTED_GPUS)
    return float(1 / (1 + spread * largest_of(gpus) / held**0.5))


def balance_of(ep: int, *, lean: bool = False) -> float:
    """The same of so many H100s; ``lean`` is with the fewest redundant experts."""
    place = setup(DEVICE, ep)
    copies = dealt_evenly(place, lean=lean).n_redundant
    return balance_with(place.local_experts(copies), ep)


@cache
def scattered(
    device: str, ep: int, *, context: float, tpot_s: float, lean: bool = False
) -> float:
    """Tokens/s of a GPU at a target, if experts' loads scatter; 0 if none fits."""
    known = {"device": device, "lean": lean}
    balance = balance_of(ep, lean=lean)
    return rate_at(ep, context, tpot_s, **known, balancedness=balance)


def rescored() -> dict[Deployment, tuple[float, float]]:
    """Errors of wide runs with their own routing: one balancedness, and scattered.

    Those across nodes whose routing was not made even, each as it was run.
    """
    assumed, found = book_assumptions(), {}
    for record in WIDE:
        ours = run_as(record, assumed)
        held = ours.setup.local_experts(ours.assumptions.n_redundant)
        loose = replace(assumed, balancedness=balance_with(held, record.n_gpus))
        found[record] = (point(record, assumed).error, point(record, loose).error)
    return found
