"""Report of a run: latencies of every request, throughput, goodput, utilization.

Definitions are those of ``vllm bench serve``: TTFT counts from arrival, so queueing is
in it; TPOT leaves the first token out; percentiles interpolate linearly.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from llmserve_lab.checks import key_of, of_type, one_of
from llmserve_lab.engine.metrics.export import csv_text, data_frame, summary, written
from llmserve_lab.engine.metrics.iteration_log import IterationLog
from llmserve_lab.engine.metrics.percentile import (
    Percentile,
    check_percentile,
    percentile,
)
from llmserve_lab.engine.metrics.request_log import RequestLog
from llmserve_lab.engine.metrics.tbt_histogram import Floats, TbtHistogram
from llmserve_lab.engine.metrics.utilization import Utilization
from llmserve_lab.engine.timing.time_tolerance import latest
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table

if TYPE_CHECKING:
    from llmserve_lab.engine.system import System

Metric = Literal["ttft", "tbt", "tpot", "queue", "latency"]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Latencies, throughput and utilization of a run.

    Arrays have one entry for each answered request, in the order of the answers; times
    are in seconds from the start of the run. ``finished_s`` is the last token's time,
    or the end of a static batch; ``hit_tokens`` of the prompt were found in the prefix
    cache, ``transfer_s`` passed between the end of the prefill and the arrival of its
    KV. ``gaps`` is the histogram of the times between tokens (TBT), also of requests
    that were not finished when the run was ``stopped``. ``log`` holds each iteration
    and event, if they were logged.
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

    @property
    def num_preemptions(self) -> int:
        """Preemptions on all replicas."""
        return sum(use.preemptions for use in self.pools.values())

    @property
    def recomputed_tokens(self) -> int:
        """Tokens that were prefilled again after a preemption."""
        return sum(use.recomputed_tokens for use in self.pools.values())

    @cached_property
    def ttft_s(self) -> Floats:
        """Time to first token: from arrival, so queueing is in it."""
        return self.first_token_s - self.arrival_s

    @cached_property
    def queue_s(self) -> Floats:
        """Queue time: from arrival until the request was first admitted to a batch."""
        return self.scheduled_s - self.arrival_s

    @cached_property
    def latency_s(self) -> Floats:
        """End-to-end latency: from arrival to the answer, in vLLM ``e2el``."""
        return self.finished_s - self.arrival_s

    @cached_property
    def tpot_s(self) -> Floats:
        """Time per output token after the first, of requests of more than one token."""
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

    def goodput(self, **limits_s: float) -> float:
        """Requests per second that kept all limits; see :meth:`slo_attainment`."""
        return self._per_s(int(self._kept(**limits_s).sum()))

    def slo_attainment(self, **limits_s: float) -> float:
        """Share of the answered requests that kept all limits.

        Args:
            **limits_s: in seconds, of ``ttft_s``, ``tpot_s``, ``latency_s``, and of
                ``tbt_s``, which bounds every gap of a request. A request of one token
                has no TPOT and keeps any limit on it, as in vLLM. Rounding apart.

        Raises:
            ValueError: there is no such metric, or no request was answered.
        """
        if not self.num_requests:
            raise ValueError("report must hold at least one request, got none")
        return float(self._kept(**limits_s).mean())

    def _kept(self, **limits_s: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
        mean_s = np.zeros(self.num_requests)
        mean_s[self.output_len > 1] = self.tpot_s
        spent_s = {
            "ttft_s": self.ttft_s,
            "tbt_s": self.worst_gap_s,
            "tpot_s": mean_s,
            "latency_s": self.latency_s,
        }
        rounding_s = latest(self.elapsed_s) - self.elapsed_s
        kept = np.ones(self.num_requests, dtype=bool)
        for name, limit_s in limits_s.items():
            key_of("limit", name, spent_s)
            if not limit_s >= 0:  # false for what is not a number, too
                raise ValueError(f"{name} must be at least 0 s, got {limit_s}")
            kept &= spent_s[name] <= limit_s + rounding_s
        return kept

    def _per_s(self, amount: float) -> float:
        return amount / self.elapsed_s if self.elapsed_s else 0.0

    def percentile(
        self, metric: Metric, q: float, *, method: Percentile = "linear"
    ) -> float:
        """Percentile of a metric in s, by default as NumPy and vLLM take it.

        Args:
            metric: ``tbt`` is pooled over all tokens, the others have a value for each
                request.
            q: in percent.
            method: ``linear`` interpolates between the two values next to the place
                (N − 1)·q/100 in the sorted list; ``inverted_cdf`` returns the smallest
                value that at least ``q`` % do not exceed.

        Raises:
            ValueError: there is no such metric, nothing to take it of, ``q`` is not in
                [0, 100], or the method is another.
        """
        one_of("metric", metric, Metric)
        if metric == "tbt":
            return self.gaps.percentile(q, method=method)
        values = getattr(self, f"{metric}_s")
        if not len(values):
            raise ValueError(f"{metric} must have at least one value, got none")
        return percentile(values, q, method=method)

    def to_dict(self, *, quantiles: tuple[float, ...] = (99,)) -> dict[str, float]:
        """The run in numbers, by the names of ``vllm bench serve``, times in ms.

        A metric of which there is no value is left out.

        Raises:
            TypeError: ``quantiles`` are no numbers.
            ValueError: one of them is not in [0, 100].
        """
        of_type(Iterable, quantiles=quantiles)
        for q in quantiles:
            check_percentile(q, "linear")
        counts = {
            "num_preemptions": self.num_preemptions,
            "recomputed_tokens": self.recomputed_tokens,
        }
        return summary(self.columns(), self.gaps, self.elapsed_s, quantiles) | counts

    def to_json(self, path: str | Path | None = None) -> str:
        """What :meth:`to_dict` returns as JSON; with a path, written there too."""
        return written(json.dumps(self.to_dict(), indent=2, allow_nan=False), path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """A line for each request as CSV; with a path, written there too."""
        return written(csv_text(self.columns()), path)

    def to_pandas(self) -> Any:
        """A row for each request as a pandas ``DataFrame``.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        return data_frame(self.columns())

    def columns(self) -> dict[str, Floats]:
        """Columns with an entry for each request: lengths, latencies in s, counts."""
        tpot_s = np.full(self.num_requests, np.nan)
        tpot_s[self.output_len > 1] = self.tpot_s
        return {
            "id": self.id,
            "arrival_s": self.arrival_s,
            "prompt_tokens": self.prompt_len,
            "output_tokens": self.output_len,
            "prefix_cache_hits": self.hit_tokens,
            "num_preemptions": self.preemptions,
            "queue_s": self.queue_s,
            "ttft_s": self.ttft_s,
            "tpot_s": tpot_s,
            "max_itl_s": self.worst_gap_s,
            "e2el_s": self.latency_s,
        }

    def table(self, *, quantiles: tuple[float, ...] = (50, 90, 99)) -> Table:
        """Each metric at some percentiles (linear), and below it throughput and use."""
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
        return [f"{rate}, {self.iterations:,} iterations; percentiles are linear"] + [
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
    """A time with its unit: milliseconds below a second, but no kiloseconds."""
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
        log=IterationLog.of(system.replicas),
    )
