"""Predictions beside published measurements: one record a run, with its error.

What was fitted to what is in :mod:`llmserve_lab.deepseek.calibration`; what was looked
at is in each run's status. Scores are taken apart by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import get_args

import numpy as np

from llmserve_lab.catalog.evidence.deployments import (
    DEEPSEEK_DECODE,
    DEEPSEEK_PREFILL,
    DEPLOYMENTS,
    KIMI_DECODE,
    KIMI_PREFILL,
    NVL72_DECODE,
    NVL72_LATER,
    NVL72_LOW,
    NVL72_PREFILL,
    PREFILL_RATES,
    SGLANG_DRAFTED,
    Deployment,
)
from llmserve_lab.catalog.evidence.status import Kind
from llmserve_lab.deepseek.evaluation.published_runs import (
    batch_of,
    decodes,
    rate_as_run,
)
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.formula.arrays import Array

_PARTLY = "part of the combine was hidden behind GEMMs, here nothing is"
_LINKS = "between nodes InfiniBand as in the other runs"
NOTES: Mapping[str, str] = MappingProxyType(
    {
        DEEPSEEK_DECODE.name: "the batch is one measured rate over the other",
        SGLANG_DRAFTED.name: "attention was slowed down to that of DeepSeek's profile",
        NVL72_DECODE.name: "GEMMs taken to reach on Blackwell what they do on Hopper; "
        "theirs are not published",
        NVL72_LATER.name: f"{_PARTLY}; attention as good as in June",
        NVL72_LOW.name: f"{_PARTLY}; all GEMMs taken in FP4, some of attention's were "
        "in FP8",
        KIMI_DECODE.name: _LINKS,
        DEEPSEEK_PREFILL.name: "a day's mean; prompts taken as long as the contexts "
        "in decode, rows in flight as many as in the runs below",
        PREFILL_RATES[-1].name: "the balancedness makes these two differ as measured, "
        "so that their error is one",
        NVL72_PREFILL.name: f"{_PARTLY}; weights beyond the memory wait on the host, "
        "at no cost",
        KIMI_PREFILL.name: _LINKS,
    }
)


@dataclass(frozen=True)
class Point:
    """One published run: tokens per second of a GPU, predicted and measured.

    ``batch`` is requests on a GPU in decode, None in prefill.
    """

    record: Deployment
    predicted: float
    measured: float
    batch: float | None

    @property
    def name(self) -> str:
        """The run's, and its batch if it has one."""
        batch = "" if self.batch is None else f", batch {self.batch:.4g}"
        return f"{self.record.name}{batch}"

    @property
    def error(self) -> float:
        """How far the prediction is above the measurement, as a share of it."""
        return self.predicted / self.measured - 1

    @property
    def status(self) -> Kind:
        """Seen, calibrated or blind."""
        return self.record.status.kind


def point(record: Deployment, assumed: Assumptions) -> Point:
    """Tokens per second of a GPU in a published deployment, run as it was run."""
    batch = batch_of(record) if decodes(record) else None
    made, measured = rate_as_run(record, assumed), float(record.gpu_tokens_per_s)
    return Point(record, made, measured, batch)


def points(assumed: Assumptions) -> tuple[Point, ...]:
    """All published rates, predicted with one set of assumptions."""
    return tuple(point(record, assumed) for record in DEPLOYMENTS)


@dataclass(frozen=True)
class Score:
    """Errors of the runs of one status: how many, mean of their sizes, and bias.

    ``mean_interval`` and ``bias_interval`` hold 95 of 100 samples of as many runs,
    drawn from these with replacement (bootstrap). ``share_within`` is the share of runs
    within fifteen percent.
    """

    status: Kind
    n_runs: int
    mean_error: float
    bias: float
    worst: float
    share_within: float
    mean_interval: tuple[float, float]
    bias_interval: tuple[float, float]


WITHIN = 0.15
SAMPLES = 4000


def score(status: Kind, errors: Iterable[float]) -> Score:
    """Score of errors.

    Raises:
        ValueError: there are none, or one is not a finite number.
    """
    found = np.array([*errors], np.float64)
    if not found.size:
        raise ValueError("errors must be at least 1, got 0")
    if not np.isfinite(found).all():
        raise ValueError(f"errors must be finite, got {found}")
    size = np.abs(found)
    within = float((size <= WITHIN).mean())
    worst = float(found[size.argmax()])
    mean, bias = float(size.mean()), float(found.mean())
    ends = _interval(size), _interval(found)
    return Score(status, found.size, mean, bias, worst, within, *ends)


def _interval(errors: Array) -> tuple[float, float]:
    """Bootstrap interval of a mean: 95 of 100 samples of as many runs lie in it."""
    draws = np.random.default_rng(0).choice(errors, (SAMPLES, errors.size))
    low, high = np.percentile(draws.mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def by_status(errors: Iterable[tuple[Kind, float]]) -> tuple[Score, ...]:
    """Scores apart: of runs seen, calibrated and blind, as far as there are any."""
    pairs = tuple(errors)
    found = ((kind, [e for k, e in pairs if k == kind]) for kind in get_args(Kind))
    return tuple(score(kind, each) for kind, each in found if each)


def saturated(assumed: Assumptions) -> tuple[Point, ...]:
    """The points of machines that always had work: all but the mean of a day."""
    return tuple(p for p in points(assumed) if p.record is not DEEPSEEK_PREFILL)


def up_to(batches: Array, most: float) -> Array:
    """Those of ``batches`` [n] that are below ``most``, and that one."""
    return np.append(batches[batches < most], most)
