"""Dashboard of a run: what the metrics of a server would show, under vLLM's names.

Every number is read off a run of the engine: counters, gauges and histograms as vLLM
exports them, and a few that only a client or a probe can measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llmserve_lab.engine import IterationRecord, Report
from llmserve_lab.engine.metrics.percentile import percentile
from llmserve_lab.symptoms.prometheus import ITL, LONG_S, QUEUE, TTFT

BINS = 60  # points of a drawn series
ENDS = ("start_s", "end_s")  # of a record


@dataclass(frozen=True)
class Metric:
    """A number on a dashboard: its words, its unit, and the metric in vLLM, if any.

    ``exported`` is empty where vLLM has no such metric: a client or a probe has to
    measure it.
    """

    words: str
    unit: str
    exported: str = ""


_HITS = "vllm:prefix_cache_hits"
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "ttft_p50": Metric("TTFT, median", "s", TTFT),
        "ttft_p99": Metric("TTFT, P99", "s", TTFT),
        "itl_p50": Metric("ITL, median", "s", ITL),
        "itl_p99": Metric("ITL, P99", "s", ITL),
        "queue_share": Metric("queue time, share of TTFT", "share", QUEUE),
        "e2e_p50": Metric("latency, median", "s", "vllm:e2e_request_latency_seconds"),
        "running": Metric("running, mean", "request", "vllm:num_requests_running"),
        "waiting": Metric("waiting, mean", "request", "vllm:num_requests_waiting"),
        "kv_peak": Metric("KV cache in use, most", "share", "vllm:kv_cache_usage_perc"),
        "blocks": Metric("KV blocks", "block", "vllm:cache_config_info"),
        "preemptions": Metric(
            "preemptions per request", "preemption", "vllm:num_preemptions"
        ),
        "hit_share": Metric("prefix cache, tokens found", "share", _HITS),
        "queries": Metric(
            "prefix tokens looked up", "token", "vllm:prefix_cache_queries"
        ),
        "acceptance": Metric(
            "drafts accepted", "share", "vllm:spec_decode_num_accepted_tokens"
        ),
        "iteration_tokens": Metric(
            "tokens of an iteration, most", "token", "vllm:iteration_tokens_total"
        ),
        "tokens_per_s": Metric(
            "tokens written, steady", "token/s", "vllm:generation_tokens"
        ),
        "long_gaps": Metric(f"gaps above {LONG_S:g} s per request", "gap", ITL),
        "recomputed": Metric("computed again, of all tokens", "share"),
        "worst_gap": Metric("longest pause of an answer, P90", "s"),
        "short_ratio": Metric("latency, short over long answers", "share"),
        "idle_slots": Metric("slots empty while requests wait", "share"),
        "repeat_hits": Metric(
            "tokens found when another user soon asks the same replica", "share"
        ),
        "gain": Metric("tokens/s, over those without drafts", "×"),
        "scaling": Metric("tokens per GPU, over those before", "×"),
        "total": Metric("tokens of all GPUs, over those before", "×"),
        "itl_ratio": Metric("ITL, median, over that before", "×"),
        "mfu": Metric("MFU of iterations without prompts", "share"),
        "decode_per_s": Metric("tokens/s while no prompt is read", "token/s"),
        "prefill_wait": Metric("wait in the prefill pool, median", "s"),
        "transfer": Metric("KV transfer, median", "s", "vllm:nixl_xfer_time_seconds"),
        "balance_step": Metric("balancedness of an iteration", "share"),
        "balance_window": Metric("balancedness of all iterations together", "share"),
    }
)


@dataclass(frozen=True)
class Series:
    """Gauges over time [bins]: running, waiting, and the share of KV blocks in use."""

    times_s: tuple[float, ...]
    running: tuple[float, ...]
    waiting: tuple[float, ...]
    kv_usage: tuple[float, ...]


@dataclass(frozen=True)
class Dashboard:
    """Scalars by the names in ``METRICS``, and gauges over time where there are any."""

    values: Mapping[str, float]
    series: Series | None = None

    def __post_init__(self) -> None:
        for name in self.values:
            if name not in METRICS:
                raise ValueError(f"values must be named in METRICS, got {name!r}")

    def __getitem__(self, name: str) -> float:
        if name not in self.values:
            shown = ", ".join(sorted(self.values))
            raise ValueError(f"metric must be one of {shown}, got {name!r}")
        return self.values[name]


def of_report(report: Report, more: Mapping[str, float] | None = None) -> Dashboard:
    """Dashboard of an engine's run that kept its log.

    Raises:
        ValueError: the run kept no log, or answered nothing.
    """
    if report.log is None or not report.num_requests:
        raise ValueError(
            "report must hold a log and an answered request, got one of "
            f"{report.num_requests} requests"
        )
    steps = report.log.steps
    values = _latencies(report) | _gauges(steps) | _idle(report) | dict(more or {})
    values["tokens_per_s"] = steady_tokens_per_s(report)
    values["preemptions"] = report.num_preemptions / report.num_requests
    computed = sum(each.load.rows * each.count for each in steps)
    values["recomputed"] = report.recomputed_tokens / computed
    return Dashboard(MappingProxyType(values), sampled(steps, report.elapsed_s))


def steady_window_s(report: Report) -> tuple[float, float]:
    """Second half of the time in which requests arrive: neither ramp nor drain.

    In a closed loop every client has a request under way until the last one arrives.
    A load that arrives all at once has no such time: the whole run counts.
    """
    last_s = float(report.arrival_s.max())
    return (last_s / 2, last_s) if last_s > 0 else (0.0, report.elapsed_s)


def steady_tokens_per_s(report: Report) -> float:
    """Tokens written per second of the steady window, iteration by iteration.

    Each decode of an iteration writes the same number of tokens, one without drafts
    and the mean of the run with them; the first of an answer comes with its prompt.
    (To spread an answer evenly over its time would be wrong: it is written slowly
    while many prompts are read, and fast in the drain.)
    """
    assert report.log is not None, "every watched run keeps its log"
    window = begin_s, end_s = steady_window_s(report)
    steps, first_s = report.log.steps, report.first_token_s
    many = np.array([each.decode_rows * each.count for each in steps])
    from_s, until_s = (np.array([getattr(s, at) for s in steps]) for at in ENDS)
    inside_s = np.clip(until_s, *window) - np.clip(from_s, *window)
    decodes = float((many * inside_s / (until_s - from_s)).sum())
    later = float(report.output_len.sum()) - report.num_requests
    first = int(((first_s > begin_s) & (first_s <= end_s)).sum())
    return (first + decodes * later / max(float(many.sum()), 1.0)) / (end_s - begin_s)


def _latencies(report: Report) -> dict[str, float]:
    found = {
        "ttft_p50": report.percentile("ttft", 50),
        "ttft_p99": report.percentile("ttft", 99),
        "e2e_p50": report.percentile("latency", 50),
        "worst_gap": percentile(report.worst_gap_s, 90),
        "queue_share": float(report.queue_s.sum() / report.ttft_s.sum()),
        "short_ratio": _short_ratio(report),
    }
    if report.gaps.count:
        found["itl_p50"] = report.percentile("tbt", 50)
        found["itl_p99"] = report.percentile("tbt", 99)
        gaps, many = report.gaps.values()
        found["long_gaps"] = float(many[gaps > LONG_S].sum()) / report.num_requests
    return found


def _short_ratio(report: Report) -> float:
    """Median latency of the shortest quarter of the answers over the longest's."""
    low, high = (percentile(report.output_len, q) for q in (25, 75))
    short = report.latency_s[report.output_len <= low]
    long = report.latency_s[report.output_len >= high]
    return float(np.median(short) / np.median(long))


def computed_requests(step: IterationRecord) -> int:
    """Requests that have rows in the iterations of a record."""
    return step.decode_rows + len(step.chunks)


def _gauges(steps: Sequence[IterationRecord]) -> dict[str, float]:
    """Means over the busy time, and the most that was reached."""
    spans = np.array([each.end_s - each.start_s for each in steps])
    running = np.array([computed_requests(each) for each in steps])
    waiting = np.array([each.waiting for each in steps])
    return {
        "running": float((spans * running).sum() / spans.sum()),
        "waiting": float((spans * waiting).sum() / spans.sum()),
        "kv_peak": max(each.used_blocks / each.num_blocks for each in steps),
        "blocks": float(steps[0].num_blocks),
        "iteration_tokens": float(max(each.load.rows for each in steps)),
    }


def _idle(report: Report) -> dict[str, float]:
    """Share of the slots, of the most ever taken, that requests were refused.

    Only iterations count that began with requests left in the queue: one that comes
    while an iteration runs waits for its end, and not for a slot.
    """
    assert report.log is not None, "asked for by of_report"
    steps, arrived = report.log.steps, np.sort(report.arrival_s)
    begin, end = (np.array([getattr(s, at) for s in steps]) for at in ENDS)
    came = np.searchsorted(arrived, end) - np.searchsorted(arrived, begin, "right")
    left = np.array([each.waiting for each in steps]) > came
    running = np.array([computed_requests(each) for each in steps])
    seconds = np.where(left, end - begin, 0.0)
    empty = seconds * (1 - running / running.max())
    return {"idle_slots": float(empty.sum()) / (float(seconds.sum()) or 1.0)}


def sampled(steps: Sequence[IterationRecord], elapsed_s: float) -> Series:
    """Gauges at the middles of equal stretches of time, replicas added up."""
    times = (np.arange(BINS) + 0.5) * elapsed_s / BINS
    rows = np.zeros((3, BINS))
    replicas = len({(each.pool, each.replica) for each in steps})
    begin, end = (
        np.searchsorted(times, [getattr(s, at) for s in steps]) for at in ENDS
    )
    # Most steps pass between two middles.
    for place in map(int, np.flatnonzero(begin < end)):
        each, inside = steps[place], slice(begin[place], end[place])
        rows[0, inside] += computed_requests(each)
        rows[1, inside] += each.waiting
        rows[2, inside] += each.used_blocks / each.num_blocks / replicas
    return Series(tuple(map(float, times)), *(tuple(map(float, row)) for row in rows))
