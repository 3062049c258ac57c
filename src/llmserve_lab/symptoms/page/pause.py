"""One answer of each of two servers, token by token around its longest pause."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from llmserve_lab.engine import Report
from llmserve_lab.engine.metrics.iteration_log import IterationLog
from llmserve_lab.engine.metrics.percentile import percentile
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, GREEN, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style

BEFORE_S, AFTER_S = 0.8, 1.6  # seconds shown around the begin of the pause
AGAIN_S = 0.25  # a shorter gap is not shaded
WORST, ALIKE = 90, 0.02  # percentile over answers; what counts as the same pause


@dataclass(frozen=True)
class Pause:
    """Times of an answer's tokens, and the longest gap between two of them.

    ``reason`` says in a few words what the server did in it.
    """

    times_s: np.ndarray[Any, np.dtype[np.float64]]
    begin_s: float
    end_s: float
    reason: str

    @property
    def seconds(self) -> float:
        """How long the answer stands still."""
        return self.end_s - self.begin_s


def log_of(report: Report) -> IterationLog:
    """The log that the run kept."""
    assert report.log is not None, "every watched run keeps its log"
    return report.log


def token_times(report: Report, number: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """When each token of a request was written [tokens], in seconds of the run.

    It is computed in every iteration between a prompt that is read to its end and the
    next preemption, or the last token.
    """
    log, times = log_of(report), list[float]()
    for begin_s, end_s in _spells(report, number):
        times.append(begin_s)
        for step in log:
            if step.start_s >= begin_s and step.end_s <= end_s:
                ends = np.linspace(step.start_s, step.end_s, step.count + 1)[1:]
                times.extend(map(float, ends))
    return np.array(times)


def _spells(report: Report, number: int) -> Iterator[tuple[float, float]]:
    """From the token that ends a prompt to the preemption or the last token."""
    log = log_of(report)
    read = [s.end_s for s in log if any(number == of for of, _, _ in s.chunks)]
    stops = [
        each.time_s
        for each in log.events
        if each.id == number and each.kind in ("preempted", "finished")
    ]
    before_s = -1.0
    for stop_s in stops:
        mine = [each for each in read if before_s < each <= stop_s]
        if mine:
            yield max(mine), stop_s
        before_s = stop_s


def worst_s(report: Report) -> float:
    """The longest pause of an answer that nine of ten do not exceed."""
    return percentile(report.worst_gap_s, WORST)


def longest(report: Report, most: float | None = None) -> Pause:
    """The longest pause of an answer, of ``most`` seconds, or else the worst of ten."""
    most = worst_s(report) if most is None else most
    alike = np.flatnonzero(np.abs(report.worst_gap_s - most) < ALIKE * most)
    if not alike.size:
        raise ValueError(f"most must be the longest pause of an answer, got {most}")
    place = int(alike[np.argmax(report.output_len[alike])])  # much to see around it
    number = int(report.id[place])
    times = token_times(report, number)
    assert len(times) == report.output_len[place], "every token once"
    at = int(np.argmax(np.diff(times)))
    begin_s, end_s = float(times[at]), float(times[at + 1])
    return Pause(times, begin_s, end_s, _reason(report, number, begin_s, end_s))


def _reason(report: Report, number: int, begin_s: float, end_s: float) -> str:
    log = log_of(report)
    inside = log.between(begin_s - 1e-9, end_s)
    if any(each.id == number and each.kind == "preempted" for each in inside.events):
        return "preempted"
    rows = max(s.load.rows for s in log if begin_s <= s.start_s < end_s)
    return f"iteration of\n{rows:,} tokens"


@figure_style()
def drawn(runs: dict[str, Report], title: str, name: str) -> StaticFigure:
    """Tokens of an answer, and those of each iteration; a row a server, alike."""
    from llmserve_lab.extras import pyplot as plt

    figure, grid = plt.subplots(
        len(runs), 2, figsize=(5.6, 3.7), sharex=True, sharey="col", squeeze=False
    )
    said, most_s = [], min(map(worst_s, runs.values()))
    for (left, right), (who, report) in zip(grid, runs.items(), strict=True):
        pause = longest(report, most_s)
        _answer(left, pause)
        _iterations(right, report, pause.begin_s)
        left.set_ylabel(f"{who.capitalize()}\ntokens written")
        reason = pause.reason.replace("\n", " ")
        said.append(
            f"{who.capitalize()}: the answer stands still for "
            f"{si(pause.seconds, 's', 2)} ({reason})."
        )
    grid[0][0].set_title("one answer")
    grid[0][1].set_title("tokens of an iteration")
    for axes in grid[0]:  # of both rows: they share their scale
        axes.set_ylim(bottom=0)
    for axes in grid[-1]:
        axes.set_xlabel("time since the pause began (s)")
    return StaticFigure.of(figure, sentence=" ".join(said), title=title, name=name)


def _answer(axes: Any, pause: Pause) -> None:
    seconds = pause.times_s - pause.begin_s
    shown = seconds[(seconds >= -BEFORE_S) & (seconds <= AFTER_S)]
    axes.step(shown, np.arange(len(shown)), where="post", color=BLUE.light)
    axes.axvspan(0, pause.seconds, color=VERMILLION.light, alpha=0.15, linewidth=0)
    middle, high = pause.seconds / 2, {"transform": axes.get_xaxis_transform()}
    for begin, end in pairwise(shown):
        if end - begin > AGAIN_S and begin > 0:  # it stands still once more
            axes.axvspan(begin, end, color=VERMILLION.light, alpha=0.07, linewidth=0)
    text = f"{si(pause.seconds, 's', 2)}\n{pause.reason}"
    look = {"ha": "center", "va": "top", "color": VERMILLION.light, "fontsize": 8.5}
    axes.text(middle, 0.96, text, **high, **look)
    axes.set(xlim=(-BEFORE_S, AFTER_S))


def _iterations(axes: Any, report: Report, begin_s: float) -> None:
    """Tokens of iterations, and preemptions of any request."""
    inside = log_of(report).between(begin_s - BEFORE_S, begin_s + AFTER_S)
    times = [each.end_s - begin_s for each in inside.steps]
    rows = [each.load.rows for each in inside.steps]
    axes.fill_between(times, rows, step="pre", color=GREEN.light, alpha=0.6)
    lost = [e.time_s - begin_s for e in inside.events if e.kind == "preempted"]
    if lost:
        above = {"transform": axes.get_xaxis_transform(), "color": VERMILLION.light}
        axes.plot(lost, [0.8] * len(lost), "v", markersize=5, **above)
        text = "▼ some request is preempted"
        axes.text(AFTER_S, 0.86, text, fontsize=8.5, ha="right", va="bottom", **above)
    axes.yaxis.set_major_formatter("{x:,.0f}")
