"""Queries to Prometheus as objects: each prints its PromQL and answers it for a run.

A run is scraped twice, before its first request and after its last one, so that
``increase()`` is the difference of two samples with nothing to extrapolate. Histograms
have the buckets of vLLM, and are read as Prometheus reads them: from the cumulative
counts alone. What lies above the last bound, or between two bounds, is not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from types import MappingProxyType
from typing import Protocol

import numpy as np

from llmserve_lab.checks import key_of
from llmserve_lab.engine import Report
from llmserve_lab.symptoms.triage import Goals

SPAN = "[5m]"
PREEMPTED = "vllm:num_preemptions_total"
LATENCY, TTFT = "vllm:e2e_request_latency_seconds", "vllm:time_to_first_token_seconds"
QUEUE, ITL = "vllm:request_queue_time_seconds", "vllm:inter_token_latency_seconds"
PREFILL = "vllm:request_prefill_time_seconds"
WHOSE = "instance, engine"  # a server, and each of its data-parallel engines
LONG_S = 0.5  # a gap that a reader sees, and a bound of a bucket
TOKENS = "vllm:iteration_tokens_total"  # a histogram in spite of its name
# Bounds of vLLM's buckets, vllm/v1/metrics/loggers.py.
TOKEN_BOUNDS = (1, *(2**n for n in range(3, 15)))
ITL_BOUNDS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)


@dataclass(frozen=True)
class Buckets:
    """Histogram: for each bound, how many events did not exceed it; the last is ∞."""

    bounds: tuple[float, ...]
    counts: tuple[float, ...]

    @classmethod
    def of(
        cls, values: Sequence[float], weights: Sequence[float], bounds: Sequence[float]
    ) -> Buckets:
        """Put events into buckets, ``weights`` of each value."""
        seen, many = np.asarray(values), np.asarray(weights)
        ends = (*map(float, bounds), inf)
        return cls(ends, tuple(float(many[seen <= end].sum()) for end in ends))

    def quantile(self, q: float) -> float:
        """``histogram_quantile``: linear inside a bucket; the last bound above all."""
        rank = q * self.counts[-1]
        if not self.counts[-1]:
            return nan
        below, lower = 0.0, 0.0
        for end, count in zip(self.bounds, self.counts, strict=True):
            if count >= rank:
                if end == inf:
                    return lower
                return lower + (end - lower) * (rank - below) / (count - below)
            below, lower = count, end
        raise AssertionError("the last bucket holds all events")


@dataclass(frozen=True)
class Scrape:
    """What the counters and histograms of a server have grown by in a run."""

    counters: Mapping[str, float]
    histograms: Mapping[str, Buckets]

    @classmethod
    def of(cls, report: Report) -> Scrape:
        """Read off a run that kept its log.

        vLLM adds a whole prompt to ``iteration_tokens_total`` in the iteration that
        writes its first token, however many chunks it was read in.
        """
        assert report.log is not None, "every watched run keeps its log"
        gaps, many = report.gaps.values()
        tokens = _iteration_tokens(report)
        counters = {
            PREEMPTED: float(report.num_preemptions),
            f"{LATENCY}_count": float(report.num_requests),
            f"{QUEUE}_sum": float(report.queue_s.sum()),
            f"{TTFT}_sum": float(report.ttft_s.sum()),
        }
        histograms = {
            ITL: Buckets.of(list(gaps), list(many), ITL_BOUNDS),
            TOKENS: Buckets.of(list(tokens), list(tokens.values()), TOKEN_BOUNDS),
        }
        return cls(MappingProxyType(counters), MappingProxyType(histograms))


def _iteration_tokens(report: Report) -> dict[float, float]:
    """How many iterations had how many tokens, as vLLM adds them up."""
    assert report.log is not None
    prompts = dict(zip(report.id.tolist(), report.prompt_len.tolist(), strict=True))
    ends = sorted(
        (float(t), int(i)) for t, i in zip(report.first_token_s, report.id, strict=True)
    )
    found, at = dict[float, float](), 0
    for step in report.log:
        many, rows = float(step.count), float(step.decode_rows)
        read = 0
        while at < len(ends) and ends[at][0] <= step.end_s + 1e-12:
            read += prompts[ends[at][1]] + 1
            at += 1
        if read:
            found[rows + read] = found.get(rows + read, 0.0) + 1
            many -= 1
        if many:
            found[rows] = found.get(rows, 0.0) + many
    return found


class Query(Protocol):
    """An expression: its text, and its value for a scrape."""

    @property
    def text(self) -> str:
        """PromQL."""
        ...

    def value(self, seen: Scrape) -> float:
        """What Prometheus would answer."""
        ...


@dataclass(frozen=True)
class Increase:
    """Growth of a counter, for each server; ``le`` picks a bucket of a histogram."""

    metric: str
    le: float | None = None

    @property
    def text(self) -> str:
        """PromQL."""
        if self.le is None:
            return f"sum by ({WHOSE}) (increase({self.metric}{SPAN}))"
        bucket = f'{self.metric}_bucket{{le="{float(self.le)}"}}'
        return f"sum by ({WHOSE}) (increase({bucket}{SPAN}))"

    def value(self, seen: Scrape) -> float:
        """The counter, or the cumulative count of the bucket.

        Raises:
            ValueError: the histogram has no such bucket: Prometheus answers nothing.
        """
        if self.le is not None:
            buckets = seen.histograms[self.metric]
            key_of("le", self.le, buckets.bounds)
            return buckets.counts[buckets.bounds.index(self.le)]
        if self.metric in seen.counters:
            return seen.counters[self.metric]
        return seen.histograms[self.metric.removesuffix("_count")].counts[-1]


@dataclass(frozen=True)
class Above:
    """Events of a histogram above a bound: all of them less those in its buckets."""

    metric: str
    le: float

    @property
    def text(self) -> str:
        """PromQL."""
        whole, part = self._parts
        return f"{whole.text} - {part.text}"

    @property
    def _parts(self) -> tuple[Increase, Increase]:
        return Increase(f"{self.metric}_count"), Increase(self.metric, self.le)

    def value(self, seen: Scrape) -> float:
        """How many."""
        whole, part = self._parts
        return whole.value(seen) - part.value(seen)


def _grouped(of: Query) -> str:
    """A query's text where an operator follows: a difference needs its brackets."""
    return f"({of.text})" if isinstance(of, Above) else of.text


@dataclass(frozen=True)
class Ratio:
    """One query over another."""

    over: Query
    under: Query

    @property
    def text(self) -> str:
        """PromQL."""
        return f"{_grouped(self.over)} / {self.under.text}"

    def value(self, seen: Scrape) -> float:
        """As in Prometheus: over nothing an event is infinite, and nothing is nan."""
        over, under = self.over.value(seen), self.under.value(seen)
        if under:
            return over / under
        return inf if over else nan


@dataclass(frozen=True)
class Quantile:
    """A quantile read from the buckets of a histogram."""

    q: float
    metric: str

    @property
    def text(self) -> str:
        """PromQL."""
        rates = f"sum by (le, {WHOSE}) (rate({self.metric}_bucket{SPAN}))"
        return f"histogram_quantile({self.q:g}, {rates})"

    def value(self, seen: Scrape) -> float:
        """Interpolated inside the bucket that holds it."""
        return seen.histograms[self.metric].quantile(self.q)


@dataclass(frozen=True)
class Alert:
    """A query and the value above which it fires."""

    name: str
    query: Query
    threshold: float

    @property
    def text(self) -> str:
        """The rule's expression."""
        return f"{_grouped(self.query)} > {self.threshold:g}"

    def fires(self, seen: Scrape) -> bool:
        """Whether the value exceeds the threshold; not a number does not."""
        return self.query.value(seen) > self.threshold


FINISHED = Increase(f"{LATENCY}_count")
GOALS = Goals()
ALERTS = (
    Alert(
        "preemptions per request",
        Ratio(Increase(PREEMPTED), FINISHED),
        GOALS.preempted,
    ),
    Alert(
        f"gaps above {LONG_S:g} s per request",
        Ratio(Above(ITL, LONG_S), FINISHED),
        GOALS.long_gaps,
    ),
    Alert("iterations above 8,192 tokens", Above(TOKENS, 8192), 0.0),
)
BLIND = Quantile(0.99, TOKENS)
