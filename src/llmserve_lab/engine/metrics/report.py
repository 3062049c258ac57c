"""What came out: the times of every request, every gap, and how busy the pools were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from llmserve_lab.engine.metrics.iteration_log import IterationLog
from llmserve_lab.engine.metrics.request_log import RequestLog
from llmserve_lab.engine.metrics.tbt_histogram import Floats, TbtHistogram
from llmserve_lab.engine.metrics.utilization import Utilization
from llmserve_lab.engine.timing.time_tolerance import latest

if TYPE_CHECKING:
    from llmserve_lab.engine.system import System
    from llmserve_lab.page.table import Table

Metric = Literal["ttft", "tbt", "tpot", "queue", "latency"]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What a run came to. Arrays have one entry for each request that was answered.

    They are in the order of the answers; times are in seconds from the start of the
    run. ``finished_s`` is the last token's time, or the end of a frozen batch;
    ``hit_tokens`` of the prompt were found in a prefix store, ``transfer_s`` passed
    between the end of the prefill and the arrival of its cache. ``gaps`` holds every
    gap, also of requests that were not finished when the run was ``stopped``.
    """

    id: Floats
    arrival_s: Floats
    prompt_len: Floats
    output_len: Floats
    hit_tokens: Floats
    scheduled_s: Floats
    first_token_s: Floats
    transfer_s: Floats
    last_token_s: Floats
    finished_s: Floats
    worst_gap_s: Floats
    preemptions: Floats
    gaps: TbtHistogram
    pools: Mapping[str, Utilization]
    elapsed_s: float
    stopped: bool = False
    log: IterationLog | None = field(default=None)

    @property
    def num_requests(self) -> int:
        """Requests answered."""
        return len(self.id)

    @property
    def iterations(self) -> int:
        """Iterations of all replicas."""
        return sum(use.iterations for use in self.pools.values())

    @cached_property
    def ttft_s(self) -> Floats:
        """Time to first token: from arrival, so queueing is in it."""
        return self.first_token_s - self.arrival_s

    @cached_property
    def queue_s(self) -> Floats:
        """From arrival until an iteration first carried some of the prompt."""
        return self.scheduled_s - self.arrival_s

    @cached_property
    def latency_s(self) -> Floats:
        """From arrival to answer."""
        return self.finished_s - self.arrival_s

    @cached_property
    def tpot_s(self) -> Floats:
        """Mean time per token after the first, of requests that had more than one."""
        more = self.output_len > 1
        span_s = (self.last_token_s - self.first_token_s)[more]
        return span_s / (self.output_len[more] - 1)

    @property
    def throughput_tokens_per_s(self) -> float:
        """Tokens produced for answered requests, per second."""
        return self._per_s(float(self.output_len.sum()))

    @property
    def requests_per_s(self) -> float:
        """Requests answered per second."""
        return self._per_s(self.num_requests)

    def goodput(
        self,
        *,
        ttft_s: float,
        tbt_s: float = float("inf"),
        tpot_s: float = float("inf"),
    ) -> float:
        """Requests per second that kept all limits.

        ``tbt_s`` bounds every gap of a request, ``tpot_s`` their mean; rounding apart.
        """
        mean_s = np.zeros(self.num_requests)
        mean_s[self.output_len > 1] = self.tpot_s
        spent_s = np.array([self.ttft_s, self.worst_gap_s, mean_s])
        rounding_s = latest(self.elapsed_s) - self.elapsed_s
        limits_s = np.array([[ttft_s], [tbt_s], [tpot_s]]) + rounding_s
        return self._per_s(int((spent_s <= limits_s).all(axis=0).sum()))

    def _per_s(self, amount: float) -> float:
        return amount / self.elapsed_s if self.elapsed_s else 0.0

    def percentile(self, metric: Metric, q: float) -> float:
        """Smallest value in s that at least ``q`` % do not exceed.

        Raises:
            ValueError: there is no such metric, nothing to take it of, or ``q`` is not
                in [0, 100].
        """
        if metric not in get_args(Metric):
            known = ", ".join(get_args(Metric))
            raise ValueError(f"metric must be one of {known}, got {metric!r}")
        if not 0 <= q <= 100:
            raise ValueError(f"q must be in [0, 100], got {q}")
        if metric == "tbt":
            return self.gaps.percentile(q)
        values = getattr(self, f"{metric}_s")
        if not len(values):
            raise ValueError(f"{metric} must have at least one value, got none")
        return float(np.percentile(values, q, method="inverted_cdf"))

    def table(self, *, quantiles: tuple[float, ...] = (50, 90, 99)) -> Table:
        """Each metric at some percentiles, and below it what the run came to."""
        from llmserve_lab.page.table import Table

        rows = [
            (meaning, *(_seconds(self.percentile(name, q)) for q in quantiles))
            for name, meaning in MEANING.items()
            if self._has(name)
        ]
        head = ("time", *(f"p{q:g}" for q in quantiles))
        ended = " (stopped)" if self.stopped else ""
        caption = f"{self.num_requests} requests in {_seconds(self.elapsed_s)}{ended}"
        return Table(caption, head, rows, notes=self._notes())

    def _has(self, metric: Metric) -> bool:
        values = getattr(self, f"{metric}_s", None)
        return self.gaps.count > 0 if values is None else len(values) > 0

    def _notes(self) -> list[str]:
        rate = f"{self.throughput_tokens_per_s:,.0f} tokens/s"
        return [f"{rate}, {self.iterations:,} iterations"] + [
            f"{name}: busy {use.utilisation:.0%}, computing "
            f"{use.compute_utilisation:.0%}, reading {use.memory_utilisation:.0%}, "
            f"cache filled {use.kv_occupancy:.0%}, at most {use.kv_peak:.0%}"
            for name, use in self.pools.items()
        ]

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


MEANING: Mapping[Metric, str] = {
    "queue": "waiting for the first iteration",
    "ttft": "to the first token, TTFT",
    "tbt": "between two tokens, TBT",
    "tpot": "per token after the first, TPOT",
    "latency": "to the answer",
}


def _seconds(value: float) -> str:
    """A time as people say it: milliseconds below a second, but no kiloseconds."""
    from llmserve_lab.formula.text import si

    return si(value, "s") if value < 1_000 else f"{value:,.0f} s"


def report_of(system: System, record: RequestLog, *, stopped: bool) -> Report:
    """Close the books of a run."""
    return Report(
        **record.columns(),
        gaps=system.gaps,
        pools={
            name: Utilization.of(replicas, system.now_s)
            for name, replicas in system.pools.items()
        },
        elapsed_s=system.now_s,
        stopped=stopped,
        log=log_of(system),
    )


def log_of(system: System) -> IterationLog | None:
    """All iterations and events of the replicas, or None if they were not logged."""
    if not any(each.events is not None for each in system.replicas):
        return None
    steps = [step for each in system.replicas for step in each.counters.records or ()]
    steps.sort(key=lambda step: (step.end_s, step.pool, step.replica))
    logs = [each.events for each in system.replicas if each.events is not None]
    events = [event for log in logs for event in log.events]
    events.sort(key=lambda event: event.time_s)
    return IterationLog(tuple(steps), tuple(events))
