"""Dashboards drawn: gauges over time, and the panel of numbers under vLLM's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llmserve_lab.checks import key_of
from llmserve_lab.engine import Report
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.table import Table
from llmserve_lab.symptoms.case import Symptom, watched
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.dashboard import Dashboard, Series
from llmserve_lab.symptoms.page import pause
from llmserve_lab.symptoms.page.tables import Remedies
from llmserve_lab.symptoms.served import WatchedRun

GAME: dict[str, tuple[str, str]] = {
    "dashboard 1": ("first-token", "too few slots"),
    "dashboard 2": ("percentiles", "prompts among the decodes"),
    "dashboard 3": ("prefix-cache", "prompts differ at the start"),
}
PAIR = {
    "server 1": "preemption",
    "server 2": "long prompts in one piece",
}
COUNTED_AS: dict[str, tuple[str, tuple[str, ...]]] = {
    "requests running, most": ("gauge num_requests_running", ("running_most",)),
    "requests waiting, most": ("gauge num_requests_waiting", ("waiting_most",)),
    "KV cache in use, most": ("gauge kv_cache_usage_perc", ("kv_peak",)),
    "preemptions per request": ("counter num_preemptions_total", ("preemptions",)),
    "prefix cache, share found": (
        "counters prefix_cache_hits_total, prefix_cache_queries_total",
        ("hit_share",),
    ),
    "tokens written per second": ("counter generation_tokens_total", ("tokens_per_s",)),
    "TTFT, P50 / P99": (
        "histogram time_to_first_token_seconds",
        ("ttft_p50", "ttft_p99"),
    ),
    "queue time, share of TTFT": (
        "histogram request_queue_time_seconds",
        ("queue_share",),
    ),
    "ITL, P50 / P99": ("histogram inter_token_latency_seconds", ("itl_p50", "itl_p99")),
    "gaps > 0.5 s/request": ("the same histogram", ("long_gaps",)),
}
PANEL = {name: parts for name, (_, parts) in COUNTED_AS.items()}
HEALTHY = "healthy"
LEFT_OUT = (
    "requests waiting, most",
    "tokens written per second",
)  # tell nothing of a pause
SHARES, SECONDS = ("queue_share", "hit_share", "kv_peak"), ("ttft", "itl")
RATIOS = ("preemptions", "long_gaps")
SIMULATED = "simulated, not compared with a measured server"
ROW_IN = 1.4  # inches of height of a server's gauges


@dataclass(frozen=True)
class Board:
    """A dashboard: its gauges as a picture, and its panel as a table below."""

    picture: StaticFigure
    panel: Table

    def __repr__(self) -> str:
        return f"{self.picture!r}\n{self.panel!r}"

    def _repr_mimebundle_(self, **_kwargs: Any) -> dict[str, str]:
        both = self.picture.html() + self.panel._repr_html_()
        return {"text/plain": repr(self), "text/html": both}


def shown(name: str, value: float) -> str:
    """A number of the panel with its unit."""
    if name in SHARES:
        return f"{value:.0%}"
    if name.startswith(SECONDS):
        return si(value, "s", 2)
    return f"{value:.2f}" if name in RATIOS else f"{value:,.0f}"


def panel(dashboard: Dashboard) -> dict[str, str]:
    """Names and numbers of the panel; what this run does not export is left out."""
    rows, values = {}, dict(dashboard.values)
    if dashboard.series is not None:
        values["running_most"] = max(dashboard.series.running)
        values["waiting_most"] = max(dashboard.series.waiting)
    for exported, parts in PANEL.items():
        if all(name in values for name in parts):
            rows[exported] = " / ".join(shown(n, values[n]) for n in parts)
    return rows


@dataclass(frozen=True, repr=False)
class Panels(Table):
    """Dashboards side by side; a name of vLLM may be broken at its underscores."""

    def _repr_html_(self) -> str:
        """The table's HTML."""
        html = super()._repr_html_()
        return re.sub(r"(?<=[a-z])_(?=[a-z]+[_<,])", "_<wbr>", html)


def side_by_side(servers: Mapping[str, Dashboard], caption: str) -> Panels:
    """What each dashboard shows, with the type and the name that vLLM gives it."""
    shown = without_names(servers, caption)
    rows = [
        (name, COUNTED_AS[str(name)][0], *rest)
        for name, *rest in shown.rows
        if name not in LEFT_OUT
    ]
    head, *who = shown.columns
    return Panels(caption, (head, "in vLLM (vllm:…)", *who), rows)


def without_names(servers: Mapping[str, Dashboard], caption: str) -> Table:
    """What each dashboard shows."""
    columns = [panel(each) for each in servers.values()]
    rows = [
        (name, *(each.get(name, "–") for each in columns))
        for name in PANEL
        if any(name in column for column in columns)
    ]
    return Table(caption, ("panel", *servers), rows)


@figure_style()
def _gauges_of(each: Dashboard, title: str, name: str) -> StaticFigure:
    """Requests that run and wait, and the cache in use, over time.

    Raises:
        ValueError: the dashboard has no gauges over time.
    """
    from llmserve_lab.extras import pyplot as plt

    series = each.series
    if series is None:
        raise ValueError("dashboard must have gauges over time, got none")
    figure, (left, right) = plt.subplots(1, 2, figsize=(4.75, ROW_IN))
    _gauges(left, right, series)
    for axes in (left, right):
        axes.set_xlabel("time (s)")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    said = (
        f"At the moments drawn at most {max(series.running):.0f} requests run and "
        f"{max(series.waiting):.0f} wait; at the fullest moment {each['kv_peak']:.0%} "
        "of the KV cache is in use."
    )
    return StaticFigure.of(figure, sentence=said, title=title, name=name)


def _gauges(left: Any, right: Any, series: Series) -> None:
    """Requests in the left panel, the cache in the right one."""
    left.plot(series.times_s, series.running, color=BLUE.light, label="running")
    left.plot(
        series.times_s,
        series.waiting,
        color=VERMILLION.light,
        linestyle=(0, VERMILLION.dash),
        label="waiting",
    )
    left.set(ylim=(0, None), ylabel="requests")
    percent = [100 * each for each in series.kv_usage]
    right.fill_between(series.times_s, percent, color=GREEN.light, alpha=0.5)
    right.set(ylim=(0, 105), ylabel="KV cache (%)")


def _watched(names: Mapping[str, tuple[str, str]]) -> dict[str, Dashboard]:
    """A healthy server, and each of the servers that are asked about."""
    calm = watched(case("pauses"))
    asked = {who: watched(case(key), cause) for who, (key, cause) in names.items()}
    return {HEALTHY: calm} | asked


@cache
def pair() -> Board:
    """Two servers with one symptom and two causes: a pause of each, and the panels."""
    title, name = "Two answers pause alike: one was preempted", "symptoms.pair"
    of = case("pauses")
    runs = dict[str, Report]()
    for who, cause in PAIR.items():
        run = of.cause(cause).setup(0)
        assert isinstance(run, WatchedRun), "a load on a server, not a router"
        runs[who] = run.report()
    picture = pause.drawn(runs, f"{title}, the other waits for a prompt", name)
    seen = _watched({who: (of.key, cause) for who, cause in PAIR.items()})
    return Board(
        picture,
        side_by_side(seen, f"A healthy server and the two that pause, {SIMULATED}"),
    )


def place(who: str) -> tuple[Symptom, str]:
    """The case of a dashboard, and the name of its cause.

    Raises:
        ValueError: there is no such dashboard.
    """
    key_of("who", who, GAME)
    key, cause = GAME[who]
    return case(key), cause


@dataclass(frozen=True, repr=False)
class Narrow(Remedies):
    """Two columns of numbers, in low rows."""

    def _repr_html_(self) -> str:
        """The table's HTML."""
        return (
            super()._repr_html_().replace("catalog remedies", "catalog remedies panels")
        )


@cache
def dashboard(who: str) -> Narrow:
    """One of the dashboards whose causes are to be named: before a change, and now.

    Raises:
        ValueError: there is no such dashboard.
    """
    of, cause = place(who)
    before, now = (panel(watched(of, each)) for each in (None, cause))
    names = [each for each in now if {before[each], now[each]} != {"–"}]
    rows = [(name, before[name], now[name]) for name in names]
    return Narrow(f"{who.capitalize()}, {SIMULATED}", ("panel", "before", "now"), rows)


def bench_picture() -> StaticFigure:
    """The gauges of the bench's first cause."""
    seen = watched(case("pauses"), PAIR["server 2"])
    title = "Long prompts in one piece: hardly a queue, and a cache that is mostly free"
    return _gauges_of(seen, title, "symptoms.bench")
