"""Panels of the dashboards as queries to Prometheus, under vLLM's metric names."""

from __future__ import annotations

from llmserve_lab.page.table import Table

SPAN = "[5m]"


def rate(metric: str) -> str:
    """Increase of a counter per second, added up over servers."""
    return f"sum(rate({metric}{SPAN}))"


def quantile(metric: str, q: str = "0.99") -> str:
    """Quantile of a histogram, read from its buckets."""
    return f"histogram_quantile({q}, sum by (le) (rate({metric}_bucket{SPAN})))"


TTFT, ITL = "vllm:time_to_first_token_seconds", "vllm:inter_token_latency_seconds"
QUEUE, LATENCY = "vllm:request_queue_time_seconds", "vllm:e2e_request_latency_seconds"
HITS, QUERIES = "vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"
PREEMPTED = "vllm:num_preemptions_total"
ROWS = (
    ("running", "gauge", "vllm:num_requests_running"),
    ("waiting", "gauge", "vllm:num_requests_waiting"),
    ("KV cache", "gauge", f"max_over_time(vllm:kv_cache_usage_perc{SPAN})"),
    ("TTFT, P99", "histogram", quantile(TTFT)),
    ("ITL, P99", "histogram", quantile(ITL)),
    (
        "queue time, share of TTFT",
        "histogram",
        f"{rate(f'{QUEUE}_sum')} / {rate(f'{TTFT}_sum')}",
    ),
    (
        "tokens of an iteration",
        "histogram",
        quantile("vllm:iteration_tokens_total"),
    ),
    (
        "preemptions a request",
        "counter",
        f"{rate(PREEMPTED)} / {rate(f'{LATENCY}_count')}",
    ),
    ("prefix cache, share found", "counter", f"{rate(HITS)} / {rate(QUERIES)}"),
    ("tokens written per second", "counter", rate("vllm:generation_tokens_total")),
)


def panels() -> Table:
    """Every panel with the type of its metric and its query."""
    return Table("The panels as queries (PromQL)", ("panel", "type", "query"), ROWS)
