"""Dashboards drawn: gauges over time, and the panel of numbers under vLLM's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from llmserve_lab.engine import Report
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.table import Table
from llmserve_lab.symptoms.case import watched
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.dashboard import Dashboard, Series
from llmserve_lab.symptoms.page import pause
from llmserve_lab.symptoms.served import WatchedRun

GAME: dict[str, tuple[str, str]] = {
    "dashboard 1": ("first-token", "too few seats"),
    "dashboard 2": ("percentiles", "prompts among the decodes"),
    "dashboard 3": ("prefix-cache", "prompts differ at the start"),
}
PAIR = {
    "server 1": "preemption",
    "server 2": "long prompts in one piece",
}
PANEL: dict[str, tuple[str, ...]] = {
    "TTFT, P50 / P99": ("ttft_p50", "ttft_p99"),
    "ITL, P50 / P99": ("itl_p50", "itl_p99"),
    "queue time, share of TTFT": ("queue_share",),
    "tokens of an iteration, most": ("iteration_tokens",),
    "preemptions per request": ("preemptions",),
    "prefix cache, share found": ("hit_share",),
    "tokens written per second": ("tokens_per_s",),
}
SHARES, SECONDS = ("queue_share", "hit_share"), ("ttft", "itl")
SIMULATED = "simulated: no measured error"
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
    return f"{value:.2f}" if name == "preemptions" else f"{value:,.0f}"


def panel(dashboard: Dashboard) -> dict[str, str]:
    """Names and numbers of the panel; what this run does not export is left out."""
    rows = {}
    for exported, parts in PANEL.items():
        if all(name in dashboard.values for name in parts):
            rows[exported] = " / ".join(shown(n, dashboard[n]) for n in parts)
    return rows


def board(
    servers: Mapping[str, tuple[str, str]], title: str, name: str, caption: str
) -> Board:
    """Dashboards of one or several servers, each a case and a cause.

    Raises:
        ValueError: there is no such case or cause, or one has no gauges over time.
    """
    seen = {who: watched(case(key), cause) for who, (key, cause) in servers.items()}
    for who, (key, _) in servers.items():
        if seen[who].series is None:
            raise ValueError(f"case must have gauges over time, got {key}")
    columns = [panel(each) for each in seen.values()]
    names = [each for each in PANEL if any(each in column for column in columns)]
    rows = [(metric, *(each.get(metric, "–") for each in columns)) for metric in names]
    head = ("panel", *seen) if len(seen) > 1 else ("panel", "shows")
    return Board(_drawn(seen, title, name), Table(caption, head, rows))


@figure_style()
def _drawn(seen: Mapping[str, Dashboard], title: str, name: str) -> StaticFigure:
    from llmserve_lab.extras import pyplot as plt

    figure, grid = plt.subplots(
        len(seen), 2, figsize=(5.6, ROW_IN * len(seen)), squeeze=False
    )
    said = []
    for (left, right), (who, each) in zip(grid, seen.items(), strict=True):
        series = each.series
        assert series is not None, "checked by the caller"
        _gauges(left, right, series)
        if len(seen) > 1:
            left.set_ylabel(f"{who.capitalize()}\nrequests")
        said.append(_sentence(who, series, several=len(seen) > 1))
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
    figure.legend(
        *grid[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=2
    )
    return StaticFigure.of(figure, sentence=" ".join(said), title=title, name=name)


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


def _sentence(who: str, series: Series, *, several: bool) -> str:
    """Most that runs, waits and is held, in words."""
    first = f"{who.capitalize()}: at" if several else "At"
    return (
        f"{first} most {max(series.running):.0f} requests run and "
        f"{max(series.waiting):.0f} wait; the KV cache is at most "
        f"{max(series.kv_usage):.0%} full."
    )


@cache
def pair() -> Board:
    """Two servers with one symptom and two causes: a pause of each, and the panels."""
    title, name = "Two answers pause alike: one was preempted", "symptoms.pair"
    of, caption = case("pauses"), f"The panels of both servers, {SIMULATED}"
    servers = {who: (of.key, cause) for who, cause in PAIR.items()}
    runs = dict[str, Report]()
    for who, cause in PAIR.items():
        run = of.cause(cause).setup(0)
        assert isinstance(run, WatchedRun), "a load on a server, not a router"
        runs[who] = run.report()
    picture = pause.drawn(runs, f"{title}, the other waits for a prompt", name)
    return Board(picture, board(servers, title, name, caption).panel)


@cache
def game() -> Board:
    """The three dashboards whose causes are to be named."""
    return board(
        GAME,
        "Three dashboards, three causes",
        "symptoms.game",
        f"The panels of the three dashboards, {SIMULATED}",
    )


def bench_picture() -> StaticFigure:
    """The gauges of the bench's first cause."""
    cause = PAIR["server 2"]
    found = board({"as it opens": ("pauses", cause)}, cause, "symptoms.bench", cause)
    return found.picture
