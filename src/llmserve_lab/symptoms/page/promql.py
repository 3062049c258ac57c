"""Panels of the dashboards and alerts as queries, under vLLM's metric names."""

from __future__ import annotations

import re

from llmserve_lab.page.table import Table
from llmserve_lab.symptoms.case import Symptom
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.page.boards import PAIR, SIMULATED
from llmserve_lab.symptoms.prometheus import (
    ALERTS,
    BLIND,
    ITL,
    LATENCY,
    PREEMPTED,
    PREFILL,
    QUEUE,
    SPAN,
    TTFT,
    WHOSE,
    Quantile,
    Scrape,
)
from llmserve_lab.symptoms.served import WatchedRun


def rate(metric: str) -> str:
    """Increase of a counter per second, for each server."""
    return f"sum by ({WHOSE}) (rate({metric}{SPAN}))"


def most(gauge: str) -> str:
    """The highest sample of a gauge."""
    return f"max_over_time({gauge}{SPAN})"


P50, P99 = 0.5, 0.99
HITS, QUERIES = "vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"
ROWS = (
    ("requests running, most", "gauge", most("vllm:num_requests_running")),
    ("requests waiting, most", "gauge", most("vllm:num_requests_waiting")),
    ("KV cache in use, most", "gauge", most("vllm:kv_cache_usage_perc")),
    ("TTFT, P50", "histogram", Quantile(P50, TTFT).text),
    ("TTFT, P99", "histogram", Quantile(P99, TTFT).text),
    ("ITL, P50", "histogram", Quantile(P50, ITL).text),
    ("ITL, P99", "histogram", Quantile(P99, ITL).text),
    (
        "queue time, share of TTFT",
        "histogram",
        f"{rate(f'{QUEUE}_sum')} / ({rate(f'{QUEUE}_sum')} + {rate(f'{PREFILL}_sum')})",
    ),
    (
        "preemptions per request",
        "counter",
        f"{rate(PREEMPTED)} / {rate(f'{LATENCY}_count')}",
    ),
    ("prefix cache, share found", "counter", f"{rate(HITS)} / {rate(QUERIES)}"),
    ("tokens written per second", "counter", rate("vllm:generation_tokens_total")),
)


def panels() -> Table:
    """Every panel with the type of its metric and its query."""
    return Table("The panels as queries (PromQL)", ("panel", "type", "query"), ROWS)


def scraped(key: str, cause: str) -> Scrape:
    """What a cause's run has added to the counters of its server."""
    of: Symptom = case(key)
    run = of.cause(cause).setup(0)
    assert isinstance(run, WatchedRun), "a load on a server, not a router"
    return Scrape.of(run.report())


def alerts() -> Table:
    """What each alert reads on both servers, and whether it fires."""
    seen = {who: scraped("pauses", cause) for who, cause in PAIR.items()}
    rows = []
    for alert in ALERTS:
        cells = (
            f"{alert.query.value(s):.3g}{', fires' if alert.fires(s) else ''}"
            for s in seen.values()
        )
        rows.append((f"{alert.name} > {alert.threshold:g}", *cells))
    blind = (f"{BLIND.value(s):,.0f}" for s in seen.values())
    rows.append(("P99 of iteration tokens (no alert)", *blind))
    caption = f"What the alerts read on the two servers, {SIMULATED}"
    return Table(caption, ("query", *seen), rows)


def rules() -> str:
    """The expressions of the alerts, to be copied."""
    return "\n\n".join(f"# {each.name}\n{_broken(each.text)}" for each in ALERTS)


def _broken(text: str) -> str:
    """A query in lines that a page can show: PromQL reads over their ends."""
    text = re.sub(r" ([-/>]) ", r"\n  \1 ", text)
    return text.replace(" (increase", " (\n    increase")
