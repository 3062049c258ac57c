"""Caveats: what of a prediction is not told of the deployments that it stands beside.

The balancedness was found in a pair of prefill runs, the batch of a production system
is its rate over the rate that a user sees, and how busy that system was while it
prefilled is not known at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    DEEPSEEK_PREFILL,
    DEEPSEEK_USER_RATES,
    PROFILED_DECODE,
    PROFILED_PREFILL,
    SMALL_BATCHES,
    TABLED_BATCH,
    Deployment,
)
from llmserve_lab.deepseek.evaluation.predictions import Point, point
from llmserve_lab.deepseek.evaluation.published_runs import (
    DRAFTED,
    batch_of,
    rate_as_run,
    run_as,
)
from llmserve_lab.deepseek.model.assumptions import Assumptions


def user_rates() -> tuple[float, ...]:
    """Tokens per second that a user saw in production: both ends, and the middle."""
    low, high = map(float, DEEPSEEK_USER_RATES)
    return low, (low + high) / 2, high


@dataclass(frozen=True)
class Production:
    """A production decode, told no more than what a user saw, in tokens per second."""

    user_rate: float
    batch: int
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """How far the prediction is above the measurement, as a share of it."""
        return self.predicted / self.measured - 1


def production(assumed: Assumptions) -> tuple[Production, ...]:
    """Largest batch that keeps each rate of a user, and the GPU's rate then."""
    twin, context = run_as(DEEPSEEK_DECODE, assumed), float(DEEPSEEK_DECODE.context)
    found = []
    for rate in user_rates():
        batch = twin.batch_at(rate, context=context)
        made = float(twin.gpu_tokens_per_s(batch=batch, context=context))
        measured = float(DEEPSEEK_DECODE.gpu_tokens_per_s)
        found.append(Production(rate, batch, made, measured))
    return tuple(found)


@dataclass(frozen=True)
class Full:
    """A machine that always has work: its rate, and what share of it a day came to."""

    name: str
    tokens_per_s: float
    day_share: float


def full_machines(assumed: Assumptions) -> tuple[Full, ...]:
    """How much of each full machine's rate a day's prefill came to."""
    made = float(DEEPSEEK_PREFILL.gpu_tokens_per_s)
    rates = {
        "DeepSeek's profile, measured": float(PROFILED_PREFILL.gpu_tokens_per_s),
        "DeepSeek's profile, predicted": rate_as_run(PROFILED_PREFILL, assumed),
        "the same on such a day, predicted": rate_as_run(DEEPSEEK_PREFILL, assumed),
    }
    return tuple(Full(name, rate, made / rate) for name, rate in rates.items())


@dataclass(frozen=True)
class IfSo:
    """A decode predicted as if something untold were so."""

    record: Deployment
    what: str
    batch: float
    predicted: float

    @property
    def error(self) -> float:
        """How far the prediction is above the measurement, as a share of it."""
        return self.predicted / float(self.record.gpu_tokens_per_s) - 1


def untold(assumed: Assumptions) -> tuple[IfSo, ...]:
    """DeepSeek's decodes if their batch or their drafting was another."""
    drafted = replace(assumed, **DRAFTED)
    implied, tabled = batch_of(DEEPSEEK_DECODE), float(TABLED_BATCH)
    profiled = batch_of(PROFILED_DECODE)
    cases = (
        (DEEPSEEK_DECODE, assumed, implied, "the batch from two rates"),
        (DEEPSEEK_DECODE, drafted, implied, "and one token drafted"),
        (DEEPSEEK_DECODE, assumed, tabled, "the batch of SGLang's table"),
        (PROFILED_DECODE, assumed, profiled, "nothing drafted"),
        (PROFILED_DECODE, drafted, profiled, "one token drafted"),
    )
    return tuple(
        IfSo(record, what, batch, rate_as_run(record, made, batch=batch))
        for record, made, batch, what in cases
    )


@dataclass(frozen=True)
class FewRequests:
    """A decode with few requests: seconds of a step, measured, and what is missing.

    ``without_host_s`` is the step that kernels and links alone account for.
    """

    point: Point
    context: float
    step_s: float
    predicted_s: float
    without_host_s: float


def few_requests(assumed: Assumptions) -> tuple[FewRequests, ...]:
    """Steps with few requests: measured, predicted, and by kernels and links alone."""
    found = []
    for record in SMALL_BATCHES:
        ours, bare = (
            point(record, each) for each in (assumed, replace(assumed, host_s=0.0))
        )
        rates = (ours.measured, ours.predicted, bare.predicted)
        measured, made, kernels = (batch_of(record) / rate for rate in rates)
        context = float(record.context)
        found.append(FewRequests(ours, context, measured, made, kernels))
    return tuple(found)
