"""The chapter's step figure, and Little's law drawn from a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.engine import Report
from llmserve_lab.page.palette import BLUE, GREY, VERMILLION
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.symptoms.cases import case
from llmserve_lab.symptoms.page.storm_steps import storm
from llmserve_lab.symptoms.served import WatchedRun

SHOWN_S = 100.0  # the moment, and the request, at which the distances are drawn
Times = np.ndarray[tuple[int], np.dtype[np.float64]]


def storm_steps() -> StepFigure:
    """A preemption storm, iteration by iteration."""
    return storm()


def overloaded() -> Report:
    """Dashboard 1: two slots, and more arrives than they carry."""
    run = case("first-token").causes[1].setup(0)
    assert isinstance(run, WatchedRun), "a load on a server, not a router"
    return run.report()


def staircases(report: Report) -> tuple[Times, Times]:
    """When each request arrives, and when each is admitted, both in order."""
    arrived = np.sort(report.arrival_s)
    return arrived, np.sort(report.arrival_s + report.queue_s)


def waiting_at(report: Report, at_s: float) -> tuple[int, int]:
    """How many had arrived at a moment, and how many had been admitted."""
    arrived, admitted = (
        int(np.searchsorted(each, at_s, side="right")) for each in staircases(report)
    )
    return arrived, admitted


@figure_style()
def arrivals() -> StaticFigure:
    """Two staircases: their vertical distance waits, the horizontal one is the time."""
    from llmserve_lab.extras import pyplot as plt

    report = overloaded()
    arrived, admitted = staircases(report)
    many = np.arange(1, len(arrived) + 1)
    figure, axes = plt.subplots(figsize=(5.6, 2.7))
    axes.fill_betweenx(many, arrived, admitted, color=GREY.light, alpha=0.2, step="pre")
    for times, ink, name in (
        (arrived, VERMILLION, "arrived"),
        (admitted, BLUE, "admitted to the batch"),
    ):
        axes.step(times, many, where="post", color=ink.light, label=name)
    high, low = waiting_at(report, SHOWN_S)
    leaves_s = float(admitted[high - 1])
    arrow = {"arrowstyle": "<->", "color": GREY.light, "lw": 1.4}
    axes.annotate("", (SHOWN_S, low), (SHOWN_S, high), arrowprops=arrow)
    axes.annotate("", (SHOWN_S, high), (leaves_s, high), arrowprops=arrow)
    small: dict[str, Any] = {"fontsize": 8.5, "color": GREY.light}
    axes.text(SHOWN_S - 2, low + 12, f"{high - low} wait", ha="right", **small)
    across = f"{leaves_s - SHOWN_S:.0f} s in the queue"
    axes.text(SHOWN_S + 2, high - 4, across, va="top", **small)
    axes.set(xlabel="time (s)", ylabel="requests so far", xlim=(0, None), ylim=(0, 265))
    axes.legend(loc="lower right")
    said = (
        f"After {SHOWN_S:.0f} s {high} requests have arrived and {low} have been "
        f"admitted, so {high - low} wait. The one that arrives then is admitted "
        f"{leaves_s - SHOWN_S:.0f} s later. The grey area counts both: requests times "
        "seconds in the queue."
    )
    title = "Arrivals above admissions: upright the queue, across the time in it"
    return StaticFigure.of(figure, sentence=said, title=title, name="symptoms.arrivals")
