"""Dashboards drawn: gauges over time, and the panel of numbers under vLLM's names."""

from __future__ import annotations

from functools import cache
from typing import Any

from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, INK, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.symptoms.case import watched
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.dashboard import Dashboard

GAME: dict[str, tuple[str, str]] = {
    "dashboard 1": ("first-token", "too few seats"),
    "dashboard 2": ("percentiles", "prompts among the decodes"),
    "dashboard 3": ("prefix-cache", "prompts differ at the start"),
}
PANEL: dict[str, tuple[tuple[str, str], ...]] = {
    "time_to_first_token_seconds": (("P50", "ttft_p50"), ("P99", "ttft_p99")),
    "inter_token_latency_seconds": (("P50", "itl_p50"), ("P99", "itl_p99")),
    "request_queue_time_seconds": (("of TTFT", "queue_share"),),
    "iteration_tokens_total": (("most", "iteration_tokens"),),
    "num_preemptions": (("per request", "preemptions"),),
    "prefix_cache_hits": (("of queries", "hit_share"),),
    "generation_tokens": (("per second", "tokens_per_s"),),
}
SHARES, SECONDS = ("queue_share", "hit_share"), ("ttft", "itl")


def shown(name: str, value: float) -> str:
    """A number of the panel with its unit."""
    if name in SHARES:
        return f"{value:.0%}"
    if name.startswith(SECONDS):
        return si(value, "s", 2)
    return f"{value:.2f}" if name == "preemptions" else f"{value:,.0f}"


def panel(dashboard: Dashboard) -> list[tuple[str, str]]:
    """Names and numbers of the panel; what this run does not export is left out."""
    rows = []
    for exported, parts in PANEL.items():
        if all(name in dashboard.values for _, name in parts):
            said = (f"{word} {shown(name, dashboard[name])}" for word, name in parts)
            rows.append((exported, ", ".join(said)))
    return rows


@cache
def board(key: str, cause: str, title: str, name: str) -> StaticFigure:
    """The dashboard of a cause's run, as it would hang on a wall.

    Raises:
        ValueError: there is no such case or cause, or it has no gauges over time.
    """
    seen = watched(case(key), cause)
    if seen.series is None:
        raise ValueError(f"case must have gauges over time, got {key}")
    return _drawn(seen, title, name)


@figure_style()
def _drawn(seen: Dashboard, title: str, name: str) -> StaticFigure:
    from llmserve_lab.extras import pyplot as plt

    rows, series = panel(seen), seen.series
    assert series is not None, "checked by the caller"
    figure, (top, middle, low) = plt.subplots(
        3,
        1,
        figsize=(3.9, 2.6 + 0.2 * len(rows)),
        height_ratios=(1.2, 0.9, 0.2 * len(rows)),
    )
    top.plot(series.times_s, series.running, color=BLUE.light, label="running")
    top.plot(
        series.times_s,
        series.waiting,
        color=VERMILLION.light,
        linestyle=(0, VERMILLION.dash),
        label="waiting",
    )
    top.set(ylim=(0, None), ylabel="requests")
    top.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1)
    percent = [100 * each for each in series.kv_usage]
    middle.fill_between(series.times_s, percent, color=GREEN.light, alpha=0.5)
    middle.set(ylim=(0, 105), ylabel="KV cache\nin use (%)", xlabel="time (s)")
    middle.sharex(top)
    top.tick_params(labelbottom=False)
    _words(low, rows)
    said = "; ".join(f"vllm:{metric} {text}" for metric, text in rows)
    return StaticFigure.of(figure, sentence=f"{said}.", title=title, name=name)


def _words(axes: Any, rows: list[tuple[str, str]]) -> None:
    """The panel as two columns of text."""
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(len(rows), 0))
    for at, (metric, said) in enumerate(rows):
        look = {"va": "center", "color": INK.light, "fontsize": 8.5}
        axes.text(-0.16, at + 0.5, metric, **look)
        axes.text(1, at + 0.5, said, ha="right", fontweight="bold", **look)


def first_board() -> StaticFigure:
    """What the answers that pause look like from the inside, if it is preemption."""
    return board("pauses", "preemption", "Answers pause: one cause", "symptoms.board")


def second_board() -> StaticFigure:
    """The same symptom with the other cause."""
    return board(
        "pauses",
        "long prompts in one piece",
        "Answers pause: another cause",
        "symptoms.other-board",
    )


def game_board(name: str) -> StaticFigure:
    """One of the three dashboards whose cause is to be named.

    Raises:
        ValueError: there is no such dashboard.
    """
    if name not in GAME:
        raise ValueError(f"name must be one of {', '.join(GAME)}, got {name!r}")
    title = f"{name.capitalize()}: {case(GAME[name][0]).symptom}"
    return board(*GAME[name], title, f"symptoms.{name.replace(' ', '-')}")
